//! The tiles of AArch64: local patterns that are listed and counted. Immediates are not tiles, because they are forms
//! of one operand.

kingpost_mach::tiles! {
    MULTIPLY_ADD = "multiply_add" "iadd a, (imul x, y)" => "madd d, x, y, a";
    MULTIPLY_SUBTRACT = "multiply_subtract" "isub a, (imul x, y)" => "msub d, x, y, a";
    MULTIPLY_NEGATE = "multiply_negate" "ineg (imul x, y)" => "mneg d, x, y";
    MULTIPLY_LONG = "multiply_long" "imul.i64 (uextend x), (uextend y) | the same with sextend" => "umull d, x, y";
    PRODUCT_BY_SHIFT = "product_by_shift" "imul x, 2^k" => "lsl d, x, k";
    PRODUCT_BY_SUM = "product_by_sum" "imul x, 2^k + 1" => "add d, x, x, lsl k";
    INCREMENT_IF = "increment_if" "iadd x, (icmp | fcmp)" => "cinc d, x, cc";
    EXTRACT_FIELD = "extract_field" "band (ushr x, lsb), ones" => "ubfx d, x, lsb, width";
    PLACE_FIELD = "place_field" "band (ishl x, lsb), ones << lsb" => "ubfiz d, x, lsb, width";
    INSERT_FIELD = "insert_field" "bor (band x, !(ones << lsb)), (ishl (band y, ones), lsb)" => "bfi d, y, lsb, width";
    NOT_XOR = "not_xor" "bnot (bxor x, y)" => "eon d, x, y";
    SHIFT_PAIR = "shift_pair" "ushr (ishl x, a), b | sshr (ishl x, a), b" => "ubfx | ubfiz d, x, ...";
    SHIFT_EXTENDED = "shift_extended" "ishl (uextend x), k | ishl (sextend x), k | ishl (band x, ones), k" => "ubfiz | sbfiz d, x, k, width";
    CHANGED_OPERAND = "changed_operand" "op x, (ishl y, k) | op x, (uextend y) | op x, (bnot y)" => "op d, x, y, lsl k | op d, x, y, uxtw | bic d, x, y";
    ADDRESS_SUM = "address_sum" "load | store at (iadd x, (ishl (uextend y), k)) | (iadd x, c)" => "[x, y, uxtw k] | [x, c]";
    ADDRESS_FIXED = "address_fixed" "load | store at (stack_addr)" => "[sp, n]";
    FOLDED_LOAD = "folded_load" "sextend (load a)" => "ldrs d, [a]";
    STORED_ZERO = "stored_zero" "store (iconst 0), a" => "str xzr, [a]";
    NEGATED_PRODUCT = "negated_product" "fneg (fmul x, y)" => "fnmul d, x, y";
    WIDENED_OPERAND = "widened_operand" "iadd | isub | imul x, (swiden_low y) | ... | iadd_pairwise (swiden_low x), (swiden_high x)" => "saddw | ssubl | smull | ... | saddlp d, x, y";
    MULTIPLY_ADD_LANES = "multiply_add_lanes" "iadd a, (imul x, y) | isub a, (imul x, y)" => "mla | mls | smlal | ... d, x, y";
    SHIFT_ADD_LANES = "shift_add_lanes" "iadd a, (ushr x, k) | iadd a, (sshr x, k)" => "usra | ssra d, x, k";
    DOT_PRODUCT = "dot_product" "iadd a, (iadd_pairwise (iadd_pairwise ...), (iadd_pairwise ...))" => "sdot | udot | usdot d, x, y";
    LOAD_SPLAT = "load_splat" "splat (load a)" => "ld1r d, [a]";
    LOAD_LANE = "load_lane" "scalar_to_vector (load a)" => "ldr s, [a]";
    SHUFFLE = "shuffle" "shuffle x, y, mask" => "zip1 | uzp1 | trn1 | ext | rev64 | dup | mov ... d, x, y";
    ZERO_OR_LANE = "zero_or_lane" "bitselect c, 0, y | bitselect c, x, 0" => "bic d, y, c | and d, x, c";
    LANE_SIGN = "lane_sign" "sextend (extractlane x, n)" => "smov d, x[n]";
    BRANCH_ON_LANES = "branch_on_lanes" "brif (vany_true x) | brif (vall_true x)" => "umaxp t, x, x; cbnz";
}
