//! The rules of prose. Each takes a text and reports its findings as line and message.

use super::texts::{Kind, Text};

/// Findings of a text: the line, and the message.
pub(crate) type Findings = Vec<(usize, String)>;

/// Verbs with which the documentation of a function may begin, in the third person.
const VERBS: &str = "
    accepts accesses adapts adds adjusts advances aligns allocates announces answers appends applies asserts assigns
    attaches begins binds branches breaks builds calls cancels changes checks chooses clears clones closes coalesces
    collects combines commits compares compiles completes computes concatenates configures connects consumes continues
    converts copies counts creates cuts decides declares decodes decrements defines deletes derives describes detaches
    determines disables disassembles discards divides draws drops dumps duplicates elides eliminates emits empties
    enables encodes ends enters enumerates erases estimates evaluates evicts exchanges executes expands exports extends
    extracts fails fills filters finds finishes flips flushes folds follows formats forwards frees gathers generates
    gets grows halves hashes hoists imports increments indexes infers inherits initializes inlines inserts installs
    interns interprets intersects invalidates inverts invokes isolates iterates joins judges jumps keeps labels lays
    leaves limits lists loads locates locks looks lowers makes maps marks masks matches materializes measures merges
    minimizes mirrors moves multiplies names narrows negates normalizes notifies numbers opens optimizes orders pads
    packs pairs parses partitions passes patches performs permutes picks places plants pops prepares prepends prints
    processes produces promotes propagates protects proves pulls pushes puts quotes raises ranks reads rebuilds
    receives records recovers redirects reduces refines refuses registers rejects releases relocates reloads
    rematerializes removes renames renders repeats replaces replays reports requests requires reserves resets resolves
    restores restricts resumes retains returns reuses reverses revises rewrites rotates rounds runs saves scales scans
    schedules seals searches selects sends separates serializes sets shifts shows shrinks shuffles sign-extends
    simplifies simulates skips solves sorts spills splits starts stops stores strips substitutes subtracts sums swaps
    switches tail-calls takes tests tracks transfers transforms translates transposes traps traverses tries trims
    truncates turns undoes unifies unions unlinks unlocks unmaps updates uses validates verifies visits waits walks
    widens wraps writes yields zero-extends zeroes";

/// Words after which a summary has to be decoded.
const OPENERS: &[&str] = &["What", "Where", "How", "Which", "When", "Why", "Who"];

/// Phrases that make a reader search for their noun, and what to write in their place.
const PHRASES: &[(&str, &str)] = &[
    ("that of", "repeat the noun"),
    ("those of", "repeat the noun"),
    ("of which", "name the noun and begin a sentence"),
    ("behind", "say `after`, or name the place"),
    ("in front of", "say `before`"),
    ("stands", "say `is`, `is located`, or `precedes`"),
    ("goes", "say `moves`, `is placed`, or `control transfers`"),
    ("somebody", "name the noun"),
    ("someone", "name the noun"),
    ("nobody", "name the noun"),
    ("everybody", "name the noun"),
    ("everyone", "name the noun"),
    ("anybody", "name the noun"),
    ("anyone", "name the noun"),
    ("whoever", "name the noun"),
    ("told", "say `reported` or `recorded`"),
    ("wants", "say `takes`, `expects` or `requires`"),
    ("asks", "say `requests`"),
    ("likes", "use a verb of fact"),
    ("wishes", "say `hints` or `requests`"),
];

/// Beginnings of words in British spelling, and the American ones.
const SPELLINGS: &[(&str, &str)] = &[
    ("colour", "color"),
    ("behaviour", "behavior"),
    ("neighbour", "neighbor"),
    ("favour", "favor"),
    ("honour", "honor"),
    ("rematerialis", "rematerializ"),
    ("materialis", "materializ"),
    ("optimis", "optimiz"),
    ("normalis", "normaliz"),
    ("initialis", "initializ"),
    ("serialis", "serializ"),
    ("recognis", "recogniz"),
    ("specialis", "specializ"),
    ("canonicalis", "canonicaliz"),
    ("linearis", "lineariz"),
    ("vectoris", "vectoriz"),
    ("organis", "organiz"),
    ("generalis", "generaliz"),
    ("minimis", "minimiz"),
    ("maximis", "maximiz"),
    ("summaris", "summariz"),
    ("analysed", "analyzed"),
    ("modelled", "modeled"),
    ("labelled", "labeled"),
    ("cancelled", "canceled"),
    ("travell", "travel"),
    ("centre", "center"),
    ("catalogue", "catalog"),
    ("licence", "license"),
    ("defence", "defense"),
    ("whilst", "while"),
];

/// Returns the findings of all rules for `text`.
pub(crate) fn check(text: &Text) -> Findings {
    let mut findings = Findings::new();
    check_phrases(text, &mut findings);
    check_spelling(text, &mut findings);
    check_errors_section(text, &mut findings);
    if !matches!(text.kind, Kind::Markdown | Kind::Error) {
        check_summary(text, &mut findings);
    }
    findings
}

/// Returns `true` if `word` is a verb of the list.
pub(crate) fn is_verb(word: &str) -> bool {
    let word = word.trim_end_matches([',', ':', ';', '.']);
    let mut letters = word.chars();
    let first = letters.next();
    first.is_some_and(char::is_uppercase) && {
        let lower = word.to_lowercase();
        VERBS.split_whitespace().any(|verb| verb == lower)
    }
}

/// Reports a summary that begins in a form its kind does not have.
fn check_summary(text: &Text, findings: &mut Findings) {
    let Some((line, summary)) = text.summary() else { return };
    let first = summary.split([' ', ',']).next().unwrap_or_default();
    let (joined, is_function) = (text.joined(), matches!(text.kind, Kind::Function | Kind::Predicate));
    let message = if OPENERS.contains(&first) {
        "begin with a noun or a verb, not with a clause or question"
    } else if summary.starts_with("The same") {
        "name what is the same"
    } else if summary.starts_with("As ") && joined.contains(", but") {
        "name what it differs from, and link it"
    } else if first_sentence(&joined).ends_with('?') {
        "state it: a question has to be decoded"
    } else if text.kind == Kind::Predicate && !is_verb(first) {
        "begin with \"Returns `true` if\", or with the verb of the action"
    } else if is_function && !is_verb(first) {
        "begin with a verb in the third person, as `Returns`"
    } else if text.kind == Kind::Predicate && !joined.contains("`true`") && !joined.contains("`false`") {
        "say when the function returns `true`"
    } else if text.kind == Kind::Flag && first != "Whether" {
        "begin with \"Whether\""
    } else {
        return;
    };
    findings.push((line, format!("{message}: {summary}")));
}

/// Reports phrases that have a plain one in their place.
fn check_phrases(text: &Text, findings: &mut Findings) {
    for (line, content) in &text.lines {
        let content = words(content);
        for (phrase, instead) in PHRASES {
            if content.contains(&format!(" {phrase} ")) {
                findings.push((*line, format!("`{phrase}`: {instead}")));
            }
        }
    }
}

/// Reports British spelling.
fn check_spelling(text: &Text, findings: &mut Findings) {
    for (line, content) in &text.lines {
        for (british, american) in SPELLINGS {
            if words(content).contains(&format!(" {british}")) {
                findings.push((*line, format!("`{british}`: spell `{american}`")));
            }
        }
    }
}

/// Reports a section on errors of a function that has none.
fn check_errors_section(text: &Text, findings: &mut Findings) {
    let mut lines = text.lines.iter().filter(|(_, line)| !line.is_empty());
    while let Some((line, content)) = lines.next() {
        if content == "# Errors" && lines.clone().next().is_some_and(|(_, next)| next.starts_with("None")) {
            findings.push((*line, "leave out the section `# Errors` of a function without errors".to_owned()));
        }
    }
}

/// Returns the text up to the first end of a sentence.
fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").into_iter().chain(text.find("? ").map(|end| end + 1)).min();
    text[..end.unwrap_or(text.len())].trim_end()
}

/// Returns the words of a line in lower case, each between two spaces.
fn words(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_').filter(|word| !word.is_empty());
    let mut out = String::from(" ");
    for word in words {
        out.push_str(&word.to_lowercase());
        out.push(' ');
    }
    out
}
