//! Branches and calls: block calls, jump tables, argument lists, exception tables.

use kingpost_ir::exception_table::ExceptionItem;
use kingpost_ir::{BlockArg, BlockArgKind, BlockCall, ExceptionTable, SigRef, Value};

use crate::context::Context;
use crate::error::{ErrorKind, Result, fault};
use crate::instruction::{Head, Read};

impl Context<'_, '_> {
    /// Parses `blockN` and its arguments, if there are any.
    fn block_call(&mut self) -> Result<BlockCall> {
        let block = self.block()?;
        self.tables.block_args.clear();
        if self.lexer.eat(b'(') && !self.lexer.eat(b')') {
            loop {
                let arg = self.block_arg()?;
                self.tables.block_args.push(arg);
                if !self.lexer.eat(b',') {
                    self.lexer.expect(b')', "`,` or `)`")?;
                    break;
                }
            }
        }
        Ok(self.func.dfg.block_call(block, &self.tables.block_args))
    }

    fn block_arg(&mut self) -> Result<BlockArg> {
        match self.lexer.peek() {
            b'r' => {
                let number = self.lexer.entity("ret", "a value or `retN`")?;
                self.numbered_arg(number, BlockArgKind::TryCallRet)
            }
            b'e' => {
                let number = self.lexer.entity("exn", "a value or `exnN`")?;
                self.numbered_arg(number, BlockArgKind::TryCallExn)
            }
            _ => Ok(self.value()?.into()),
        }
    }

    fn numbered_arg(&self, number: u32, kind: fn(u32) -> BlockArgKind) -> Result<BlockArg> {
        if number < BlockArg::MAX_NUMBER {
            return Ok(BlockArg::new(kind(number)));
        }
        let limit = u64::from(BlockArg::MAX_NUMBER) - 1;
        fault(self.lexer.position(), ErrorKind::Limit { what: "the number of a `ret` or `exn` argument", limit })
    }

    pub(crate) fn jump(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let dest = self.block_call()?;
        let data = self.func.dfg.jump_data(dest);
        self.made(data, ty)
    }

    pub(crate) fn brif(&mut self, head: Head) -> Result<Read> {
        let cond = self.value()?;
        let ty = self.ctrl(head, &[cond])?;
        self.comma()?;
        let then_dest = self.block_call()?;
        self.comma()?;
        let else_dest = self.block_call()?;
        let data = self.func.dfg.brif_data(cond, then_dest, else_dest);
        self.made(data, ty)
    }

    pub(crate) fn br_table(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let index = self.value()?;
        self.comma()?;
        let default = self.block_call()?;
        self.comma()?;
        self.lexer.expect(b'[', "`[` and the entries")?;
        self.tables.block_calls.clear();
        if !self.lexer.eat(b']') {
            loop {
                let entry = self.block_call()?;
                self.tables.block_calls.push(entry);
                if !self.lexer.eat(b',') {
                    self.lexer.expect(b']', "`,` or `]`")?;
                    break;
                }
            }
        }
        let table = self.func.dfg.make_jump_table(default, &self.tables.block_calls);
        let data = self.func.dfg.br_table_data(index, table);
        self.made(data, ty)
    }

    /// Parses `(v1, v2)` into the list of arguments.
    fn call_args(&mut self) -> Result<()> {
        self.tables.args.clear();
        self.lexer.expect(b'(', "`(` and the arguments")?;
        if self.lexer.eat(b')') {
            return Ok(());
        }
        loop {
            let value = self.value()?;
            self.tables.args.push(value);
            if !self.lexer.eat(b',') {
                return self.lexer.expect(b')', "`,` or `)`");
            }
        }
    }

    pub(crate) fn call(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let func = self.func_ref()?;
        self.call_args()?;
        let data = self.func.dfg.call_data(head.opcode, func, &self.tables.args);
        self.made(data, ty)
    }

    /// Parses the called address, and returns it with the controlling type, which is the type of the address.
    fn callee(&mut self, head: Head) -> Result<(Value, kingpost_ir::Type)> {
        let callee = self.value()?;
        let ty = self.ctrl(head, &[callee])?;
        Ok((callee, ty))
    }

    pub(crate) fn call_indirect(&mut self, head: Head) -> Result<Read> {
        let sig: SigRef = self.signature_ref()?;
        self.comma()?;
        let (callee, ty) = self.callee(head)?;
        self.call_args()?;
        let data = self.func.dfg.call_indirect_data(head.opcode, sig, callee, &self.tables.args);
        self.made(data, ty)
    }

    pub(crate) fn try_call(&mut self, head: Head) -> Result<Read> {
        let ty = self.ctrl(head, &[])?;
        let func = self.func_ref()?;
        self.call_args()?;
        self.comma()?;
        let table = self.exception_table()?;
        let data = self.func.dfg.try_call_data(func, &self.tables.args, table);
        self.made(data, ty)
    }

    pub(crate) fn try_call_indirect(&mut self, head: Head) -> Result<Read> {
        let (callee, ty) = self.callee(head)?;
        self.call_args()?;
        self.comma()?;
        let table = self.exception_table()?;
        let data = self.func.dfg.try_call_indirect_data(callee, &self.tables.args, table);
        self.made(data, ty)
    }

    /// Parses `sigN, blockN(args), [ items ]`
    fn exception_table(&mut self) -> Result<ExceptionTable> {
        let sig = self.signature_ref()?;
        self.comma()?;
        let normal = self.block_call()?;
        self.comma()?;
        self.lexer.expect(b'[', "`[` and the handlers")?;
        self.tables.block_calls.clear();
        let mut items = Vec::new();
        if !self.lexer.eat(b']') {
            loop {
                let item = self.exception_item()?;
                items.push(item);
                if !self.lexer.eat(b',') {
                    self.lexer.expect(b']', "`,` or `]`")?;
                    break;
                }
            }
        }
        Ok(self.func.dfg.make_exception_table(sig, normal, &items, &self.tables.block_calls))
    }

    fn exception_item(&mut self) -> Result<ExceptionItem> {
        if self.lexer.eat_word(b"context") {
            return Ok(ExceptionItem::Context(self.value()?));
        }
        let item = if self.lexer.eat_word(b"default") {
            ExceptionItem::Default
        } else {
            ExceptionItem::Tag(self.lexer.entity("tag", "`tagN`, `default` or `context`")?)
        };
        self.lexer.expect(b':', "`:` and a block")?;
        let handler = self.block_call()?;
        self.tables.block_calls.push(handler);
        Ok(item)
    }
}
