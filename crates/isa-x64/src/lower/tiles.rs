//! The tiles of x86-64: local patterns that are listed and counted. Immediates are not tiles, because they are forms
//! of one operand.

kingpost_mach::tiles! {
    ZERO_EXTEND = "zero_extend" "band x, 0xff | 0xffff | 0xffff_ffff" => "movzx d, x";
    NARROW_MASK = "narrow_mask" "band.i64 x, 0..=0xffff_ffff" => "and d32, imm";
    AND_NOT = "and_not" "band x, (bnot y)" => "andn d, y, x";
    SUM_BY_LEA = "sum_by_lea" "iadd x, (ishl y, 0..=3) | iadd (iadd x, y), c | iadd x, y, both used again" => "lea d, [x + y*2^k + c]";
    ADDRESS_SUM = "address_sum" "load | store at (iadd x, (ishl y, 0..=3)) | (iadd x, c)" => "[x + y*2^k + c]";
    ADDRESS_FIXED = "address_fixed" "load | store at (stack_addr) | (symbol_value)" => "[rbp + n] | [rip + symbol]";
    ADDRESS_SLOT = "address_slot" "load | store at (iadd (stack_addr), (ishl y, 0..=3))" => "[rbp + y*2^k + n]";
    FOLDED_LOAD = "folded_load" "op x, (load a)" => "op d, [a]";
    FOLDED_LITERAL = "folded_literal" "op x, (f32const | f64const)" => "op d, [literal]";
    STORED_LANE = "stored_lane" "store (extractlane x, n), a" => "pextrd [a], x, n";
    STORED_IMMEDIATE = "stored_immediate" "store (iconst c), a" => "mov [a], c";
    UPDATED_MEMORY = "updated_memory" "store (op (load a), x), a" => "op [a], x";
    TRUTH_OF_LANES = "truth_of_lanes" "brif | select | trapnz (vany_true | vall_true x)" => "ptest x, x; jcc";
    LESSER_SCALAR = "lesser_scalar" "select (fcmp lt | gt x, y), x, y" => "minsd d, x, y";
    LESSER_FLOAT = "lesser_float" "bitselect (bitcast (fcmp lt | gt x, y)), x, y" => "minps d, x, y";
    ZERO_OR_LANE = "zero_or_lane" "bitselect c, 0, y | bitselect c, x, 0" => "andnps d, c, y | andps d, c, x";
    LANE_SPLAT = "lane_splat" "splat (extractlane x, n)" => "pshufd d, x, n";
    LONG_PRODUCT = "long_product" "imul (swiden_low x), (swiden_low y)" => "pmuldq d, x, y";
    DOT_PRODUCT = "dot_product" "iadd_pairwise (imul (swiden_low x), (swiden_low y)), (imul (swiden_high x), (swiden_high y))" => "pmaddwd d, x, y";
    PAIRWISE_SUM = "pairwise_sum" "iadd_pairwise (swiden_low x), (swiden_high x) | the same with uwiden" => "pmaddwd d, x, ones";
    CONVERTED_HALF = "converted_half" "snarrow (fcvt_to_sint_sat x), 0 | fcvt_from_sint (swiden_low x)" => "cvttpd2dq d, x | cvtdq2pd d, x";
    PRODUCT_BY_SHIFT = "product_by_shift" "imul x, 2^k" => "shl d, k";
}
