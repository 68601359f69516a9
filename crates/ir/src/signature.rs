//! Signatures and calling conventions.

use smallvec::SmallVec;
use std::fmt;

use crate::types::Type;

/// Extension of a small integer, where the ABI requires it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum ArgumentExtension {
    /// The high bits are undefined.
    #[default]
    None,
    /// Zero extension.
    Uext,
    /// Sign extension.
    Sext,
}

/// The purpose of a parameter or result.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum ArgumentPurpose {
    /// An ordinary value.
    #[default]
    Normal,
    /// A struct of this many bytes, passed by value; the IR value is a pointer to it. Calls read whole words of 8 bytes, so
    /// that the bytes up to the next multiple of 8 must be readable.
    StructArgument(u32),
    /// The pointer to a return area.
    StructReturn,
    /// The VM context pointer.
    VmContext,
    /// The address of the first variadic argument, in the definition of a variadic function: the value of a `va_list`
    /// of C on Windows and on Apple silicon. It is the only parameter after the declared ones. This is an extension of
    /// the text.
    VariadicList,
}

/// A parameter or result of a signature.
///
/// ```
/// use kingpost_ir::signature::{AbiParam, ArgumentExtension};
/// use kingpost_ir::types::{I8, I64};
///
/// assert_eq!(AbiParam::new(I64).to_string(), "i64");
/// let byte = AbiParam::new(I8).with_extension(ArgumentExtension::Sext);
/// assert_eq!(byte.to_string(), "i8 sext");
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct AbiParam {
    /// The type of the IR value.
    pub value_type: Type,
    /// The purpose.
    pub purpose: ArgumentPurpose,
    /// The extension.
    pub extension: ArgumentExtension,
}

impl AbiParam {
    /// Returns an ordinary parameter.
    pub const fn new(value_type: Type) -> AbiParam {
        AbiParam::special(value_type, ArgumentPurpose::Normal)
    }

    /// Returns a parameter with a purpose.
    pub const fn special(value_type: Type, purpose: ArgumentPurpose) -> AbiParam {
        AbiParam { value_type, purpose, extension: ArgumentExtension::None }
    }

    /// Returns this parameter with an extension.
    #[must_use]
    pub const fn with_extension(self, extension: ArgumentExtension) -> AbiParam {
        AbiParam { extension, ..self }
    }
}

impl fmt::Display for AbiParam {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.value_type)?;
        match self.extension {
            ArgumentExtension::None => {}
            ArgumentExtension::Uext => f.write_str(" uext")?,
            ArgumentExtension::Sext => f.write_str(" sext")?,
        }
        match self.purpose {
            ArgumentPurpose::Normal => Ok(()),
            ArgumentPurpose::StructArgument(size) => write!(f, " sarg({size})"),
            ArgumentPurpose::StructReturn => f.write_str(" sret"),
            ArgumentPurpose::VmContext => f.write_str(" vmctx"),
            ArgumentPurpose::VariadicList => f.write_str(" va_list"),
        }
    }
}

/// A calling convention.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are those of the text")]
pub enum CallConv {
    Fast,
    Tail,
    SystemV,
    WindowsFastcall,
    AppleAarch64,
    Probestack,
    Winch,
    PreserveAll,
}

impl CallConv {
    /// All conventions.
    pub const ALL: [CallConv; 8] = [
        CallConv::Fast,
        CallConv::Tail,
        CallConv::SystemV,
        CallConv::WindowsFastcall,
        CallConv::AppleAarch64,
        CallConv::Probestack,
        CallConv::Winch,
        CallConv::PreserveAll,
    ];

    /// Returns the name in the text.
    pub const fn name(self) -> &'static str {
        match self {
            CallConv::Fast => "fast",
            CallConv::Tail => "tail",
            CallConv::SystemV => "system_v",
            CallConv::WindowsFastcall => "windows_fastcall",
            CallConv::AppleAarch64 => "apple_aarch64",
            CallConv::Probestack => "probestack",
            CallConv::Winch => "winch",
            CallConv::PreserveAll => "preserve_all",
        }
    }

    /// Returns the convention with this name.
    pub fn from_name(name: &[u8]) -> Option<CallConv> {
        CallConv::ALL.into_iter().find(|conv| conv.name().as_bytes() == name)
    }

    /// Returns `true` if functions with this convention can make and receive tail calls.
    pub const fn supports_tail_calls(self) -> bool {
        matches!(self, CallConv::Tail)
    }

    /// Returns the number of payloads of an exception that a callee with this convention throws; `None` if it cannot
    /// throw.
    pub const fn exception_payloads(self) -> Option<u32> {
        match self {
            CallConv::Tail | CallConv::SystemV | CallConv::AppleAarch64 | CallConv::PreserveAll => Some(2),
            CallConv::Winch => Some(0),
            CallConv::Fast | CallConv::WindowsFastcall | CallConv::Probestack => None,
        }
    }
}

impl fmt::Display for CallConv {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parameters, results and convention of a function.
///
/// ```
/// use kingpost_ir::signature::{AbiParam, CallConv, Signature};
/// use kingpost_ir::types::{F64, I32};
///
/// // double scale(double, int)
/// let mut signature = Signature::new(CallConv::SystemV);
/// signature.params.extend([AbiParam::new(F64), AbiParam::new(I32)]);
/// signature.returns.push(AbiParam::new(F64));
/// assert_eq!(signature.to_string(), "(f64, i32) -> f64 system_v");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Parameters.
    pub params: SmallVec<[AbiParam; 4]>,
    /// Results.
    pub returns: SmallVec<[AbiParam; 2]>,
    /// Convention.
    pub call_conv: CallConv,
    /// Number of parameters that C declares, of a variadic function of C. Later parameters of a call are variadic. The
    /// text has `...` before them: `(i64, ..., i32, f64) -> i32`. This is an extension of the text.
    pub variadic: Option<u32>,
}

impl Signature {
    /// Returns a signature without parameters and results.
    pub fn new(call_conv: CallConv) -> Signature {
        Signature { params: SmallVec::new(), returns: SmallVec::new(), call_conv, variadic: None }
    }

    /// Clears parameters and results.
    pub fn clear(&mut self, call_conv: CallConv) {
        self.params.clear();
        self.returns.clear();
        self.call_conv = call_conv;
        self.variadic = None;
    }

    /// Returns the index of the last parameter with a purpose.
    pub fn special_param_index(&self, purpose: ArgumentPurpose) -> Option<usize> {
        self.params.iter().rposition(|param| param.purpose == purpose)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("(")?;
        write_list(f, &self.params, self.variadic)?;
        f.write_str(")")?;
        if !self.returns.is_empty() {
            f.write_str(" -> ")?;
            write_list(f, &self.returns, None)?;
        }
        write!(f, " {}", self.call_conv)
    }
}

/// Writes parameters separated by commas, with `...` before parameter number `variadic`.
fn write_list(f: &mut fmt::Formatter, params: &[AbiParam], variadic: Option<u32>) -> fmt::Result {
    let mut comma = "";
    for index in 0..=params.len() {
        if variadic == Some(index as u32) {
            write!(f, "{comma}...")?;
            comma = ", ";
        }
        if let Some(param) = params.get(index) {
            write!(f, "{comma}{param}")?;
            comma = ", ";
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{F32, I8, I64};

    #[test]
    fn display() {
        let mut sig = Signature::new(CallConv::SystemV);
        assert_eq!(sig.to_string(), "() system_v");
        sig.params.push(AbiParam::new(I8).with_extension(ArgumentExtension::Sext));
        sig.params.push(AbiParam::special(I64, ArgumentPurpose::StructArgument(24)));
        sig.params.push(AbiParam::special(I64, ArgumentPurpose::VmContext));
        sig.returns.push(AbiParam::new(F32));
        assert_eq!(sig.to_string(), "(i8 sext, i64 sarg(24), i64 vmctx) -> f32 system_v");
        assert_eq!(sig.special_param_index(ArgumentPurpose::VmContext), Some(2));
        sig.variadic = Some(1);
        assert_eq!(sig.to_string(), "(i8 sext, ..., i64 sarg(24), i64 vmctx) -> f32 system_v");
        sig.variadic = Some(3);
        assert_eq!(sig.to_string(), "(i8 sext, i64 sarg(24), i64 vmctx, ...) -> f32 system_v");
        for conv in CallConv::ALL {
            assert_eq!(CallConv::from_name(conv.name().as_bytes()), Some(conv));
        }
    }
}
