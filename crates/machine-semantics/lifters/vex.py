"""The meaning of VEX, Valgrind's language of instructions, as terms. `pyvex` translates machine code to it."""

import archinfo
import pyvex

import memories
import terms as t
import vex_calls
import vex_ops
from lifted import GENERAL, VECTORS, Bytes, NoMeaning, Path, merged

ARCHITECTURES = {"x86_64": archinfo.ArchAMD64, "aarch64": archinfo.ArchAArch64}
# Registers that control rounding, with the content that the meanings assume.
CONTROL = {"x86_64": {"sseround": 0, "fpround": 0, "dflag": 1}, "aarch64": {"fpcr": 0}}


class Vex:
    """Translates forms, and reads their VEX."""

    name = "vex"

    def __init__(self):
        self.architectures = {machine: make() for machine, make in ARCHITECTURES.items()}

    def lift(self, form):
        """Returns what is in each place after a form, and the condition of a fault."""
        architecture = self.architectures[form.machine]
        block = pyvex.lift(form.code, form.address, architecture, opt_level=0)
        if block.jumpkind == "Ijk_NoDecode" or block.size != len(form.code):
            raise NoMeaning("not translated")
        places = Places(architecture, form.machine)
        return merged(Run(block, places.initial()).paths(), places.read)


class Places:
    """The numbers of the bytes of registers and flags."""

    def __init__(self, architecture, machine):
        self.machine = machine
        self.at = {name: offset for name, (offset, _) in architecture.registers.items()}
        names = ["xsp" if name == "sp" else name for name in GENERAL[machine]]
        self.general = [self.at[name] for name in names]
        vector = "ymm" if machine == "x86_64" else "q"
        self.vectors = [self.at[f"{vector}{number}"] for number in range(VECTORS[machine])]
        self.flags = vex_calls.FLAGS[machine]

    def initial(self):
        registers = Bytes("guest")
        for number, at in enumerate(self.general):
            registers.set(at, t.var(f"r{number}", 64))
        for number, at in enumerate(self.vectors):
            registers.set(at, t.concat(t.var(f"h{number}", 64), t.var(f"v{number}", 64)))
        for name, value in CONTROL[self.machine].items():
            registers.set(self.at[name], t.const(value, 64 if name != "fpcr" else 32))
        flags = {bit: t.var(f"f{number}", t.BOOL) for number, bit in enumerate(self.flags)}
        for name, value in (("cc_op", t.const(0, 64)), ("cc_dep1", vex_calls.word(flags))):
            registers.set(self.at[name], value)
        return registers

    def read(self, registers):
        places = {f"r{number}": registers.get(at, 8) for number, at in enumerate(self.general)}
        for number, at in enumerate(self.vectors):
            places |= {f"v{number}": registers.get(at, 8), f"h{number}": registers.get(at + 8, 8)}
        thunk = [registers.get(self.at[name], 8) for name in ("cc_op", "cc_dep1", "cc_dep2", "cc_ndep")]
        word = vex_calls.ALL_FLAGS[self.machine](*thunk)
        places |= {f"f{number}": t.bit(word, bit) for number, bit in enumerate(self.flags)}
        return places


class Run:
    """Executes the statements of a block."""

    def __init__(self, block, registers):
        self.block, self.registers = block, registers
        self.memory = t.var("memory", t.MEMORY)
        self.temporaries = {}
        self.condition = t.TRUE

    def paths(self):
        """Returns the paths through the block."""
        ended = []
        for statement in self.block.statements:
            if statement.tag == "Ist_Exit":
                ended += self.exit(statement)
            else:
                self.run(statement)
        ended.append(Path(self.condition, self.registers, self.memory, self.value(self.block.next)))
        return ended

    def exit(self, statement):
        taken = t.both(self.condition, self.value(statement.guard))
        self.condition = t.both(self.condition, t.no(taken))
        if taken is t.FALSE:
            return []
        is_fault = statement.jk.startswith("Ijk_Sig")
        pc = t.const(statement.dst.value, 64)
        return [Path(taken, self.registers.copy(), self.memory, pc, is_fault)]

    def run(self, statement):
        """Executes a statement that does not branch."""
        kind = statement.tag
        if kind == "Ist_Put":
            self.registers.set(statement.offset, self.value(statement.data))
        elif kind == "Ist_WrTmp":
            self.temporaries[statement.tmp] = self.value(statement.data)
        elif kind == "Ist_Store":
            self.memory = memories.write(self.memory, self.value(statement.addr), self.value(statement.data))
        elif kind == "Ist_CAS":
            self.exchange(statement)
        elif kind == "Ist_LLSC":
            self.exclusive(statement)
        elif kind not in ("Ist_IMark", "Ist_NoOp", "Ist_AbiHint", "Ist_MBE"):
            raise NoMeaning(f"uses {kind}")

    def exchange(self, statement):
        """Stores data where the memory has the expected value."""
        address, low, high = self.value(statement.addr), self.value(statement.dataLo), None
        size = low.width // 8
        old = memories.read(self.memory, address, size)
        is_equal = t.eq(old, self.value(statement.expdLo))
        self.temporaries[statement.oldLo] = old
        if statement.dataHi is not None:
            above = t.binary("bvadd", address, t.const(size, 64))
            old_high = memories.read(self.memory, above, size)
            is_equal = t.both(is_equal, t.eq(old_high, self.value(statement.expdHi)))
            self.temporaries[statement.oldHi] = old_high
            old, high = t.concat(old_high, old), self.value(statement.dataHi)
        new = low if high is None else t.concat(high, low)
        self.memory = memories.write(self.memory, address, t.ite(is_equal, new, old))

    def exclusive(self, statement):
        """Loads, or stores with success, as a single thread does."""
        address = self.value(statement.addr)
        if statement.storedata is not None:
            self.memory = memories.write(self.memory, address, self.value(statement.storedata))
            self.temporaries[statement.result] = t.TRUE
            return
        size = self.block.tyenv.sizeof(statement.result) // 8
        self.temporaries[statement.result] = memories.read(self.memory, address, size)

    def value(self, expression):
        """Returns the term of an expression. `Ity_I1` is a boolean."""
        kind = expression.tag
        if kind == "Iex_RdTmp":
            return self.temporaries[expression.tmp]
        if kind == "Iex_Const":
            return constant(expression.con)
        if kind == "Iex_Get":
            return self.registers.get(expression.offset, size_of(expression.ty))
        if kind == "Iex_Load":
            return memories.read(self.memory, self.value(expression.addr), size_of(expression.ty))
        if kind == "Iex_ITE":
            return t.ite(*map(self.value, (expression.cond, expression.iftrue, expression.iffalse)))
        if kind == "Iex_CCall":
            return vex_calls.call(expression.cee.name, [self.value(arg) for arg in expression.args])
        if kind in ("Iex_Unop", "Iex_Binop", "Iex_Triop", "Iex_Qop"):
            return vex_ops.result(expression.op.removeprefix("Iop_"), [self.value(arg) for arg in expression.args])
        raise NoMeaning(f"uses {kind}")


def size_of(kind):
    return pyvex.const.get_type_size(kind) // 8


def constant(con):
    if con.type == "Ity_I1":
        return t.boolean(con.value)
    if con.type.startswith("Ity_F"):
        raise NoMeaning(f"a constant of {con.type}")
    return t.const(int(con.value), pyvex.const.get_type_size(con.type))
