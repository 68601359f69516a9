//! Exit statuses and examples of the commands, for `--help` and for manual pages.

use crate::args::Args;
use clap::{Command, CommandFactory};

/// Help of a command.
struct Help {
    /// The words of the command.
    command: &'static str,
    /// Meaning of exit status 1.
    one: &'static str,
    /// Purposes and command lines.
    examples: &'static [(&'static str, &'static str)],
}

/// Meaning of exit status 1 of commands that only read their input.
const BAD_INPUT: &str = "the input has an error, or cannot be read";

const COMMANDS: &[Help] = &[
    Help {
        command: "test",
        one: "a test failed, or there is nothing to test",
        examples: &[
            ("Run all tests of a folder with one allocator", "kingpost test --regalloc ssa filetests"),
            ("Run the tests of one function", "kingpost test --function %add sum.clif"),
            ("Write a report for a continuous integration", "kingpost test --format junit -o report.xml filetests"),
        ],
    },
    Help {
        command: "run",
        one: "a directive does not hold, or a call ends in a trap, exceeds its limit or calls an unknown function",
        examples: &[
            ("Print the results of a call", "kingpost run -O2 fib.clif '%fib(50)'"),
            ("Check the directives of a file on another architecture", "kingpost run --target aarch64 fib.clif"),
        ],
    },
    Help {
        command: "interpret",
        one: "a directive does not hold, or a call ends in a trap, exceeds its limit or calls an unknown function",
        examples: &[("Print the results of a call", "kingpost interpret --limit 1000 fib.clif '%fib(50)'")],
    },
    Help {
        command: "cat",
        one: BAD_INPUT,
        examples: &[("Print one function", "kingpost cat --function %fib all.clif")],
    },
    Help { command: "verify", one: BAD_INPUT, examples: &[("Report all errors", "kingpost verify all.clif")] },
    Help {
        command: "print-cfg",
        one: BAD_INPUT,
        examples: &[("Write a graph for Graphviz", "kingpost print-cfg --function %fib fib.clif")],
    },
    Help {
        command: "explain",
        one: BAD_INPUT,
        examples: &[("Compare all allocators", "kingpost explain --regalloc all fib.clif -o fib.html")],
    },
    Help {
        command: "opt",
        one: BAD_INPUT,
        examples: &[("Show the result of one pass", "kingpost opt --pass gvn fib.clif")],
    },
    Help {
        command: "compile",
        one: "the input has an error, or the output cannot be written",
        examples: &[
            ("Write an object", "kingpost compile -O2 fib.clif -o fib.o"),
            ("Show the code for another architecture", "kingpost compile -S --target aarch64 fib.clif"),
            ("Use the instructions of a processor", "kingpost compile --set x86-64-v3 fib.clif -o fib.o"),
        ],
    },
    Help {
        command: "opcodes",
        one: "there is no such opcode",
        examples: &[("Explain an opcode", "kingpost opcodes iadd"), ("List all", "kingpost opcodes --format json")],
    },
    Help {
        command: "tiles",
        one: "the system failed",
        examples: &[("List the patterns of a target", "kingpost tiles --target aarch64")],
    },
    Help {
        command: "alloc",
        one: BAD_INPUT,
        examples: &[
            (
                "Show two functions with all allocators",
                "kingpost alloc --regalloc all --function %f --function %g all.clif",
            ),
            ("Write a table for statistics", "kingpost alloc --regalloc all --format csv --rounds 9 all.clif"),
            ("Write a problem with its solution", "kingpost alloc --ra fib.clif"),
        ],
    },
    Help {
        command: "prove",
        one: "a function is refuted or not proved, or the input has an error",
        examples: &[("Prove the code of all functions", "kingpost prove --target aarch64 fib.clif")],
    },
    Help {
        command: "check",
        one: "an allocation is rejected; 2 also if a file cannot be read",
        examples: &[("Check an allocation", "kingpost check fib.ra")],
    },
    Help {
        command: "reduce",
        one: "the command does not fail, or cannot be started",
        examples: &[
            ("Reduce a wrong result", "kingpost reduce bug.clif -o small.clif -- kingpost test --regalloc linear"),
            ("Reduce a rejected allocation", "kingpost reduce bug.ra -- kingpost check"),
        ],
    },
    Help {
        command: "rules check",
        one: "a rule is not proved",
        examples: &[("Prove a rule, or refute it", "kingpost rules check --dialect clif my.rules")],
    },
    Help {
        command: "rules prove",
        one: "a rule is not proved",
        examples: &[("Prove new rules", "kingpost rules prove rules/integer.rules")],
    },
    Help {
        command: "rules list",
        one: "a rule is not proved",
        examples: &[("List rules with their proofs", "kingpost rules list --format json rules/integer.rules")],
    },
    Help {
        command: "rules explain",
        one: BAD_INPUT,
        examples: &[("Show a rule", "kingpost rules explain iadd_zero rules/integer.rules")],
    },
    Help {
        command: "rules count",
        one: BAD_INPUT,
        examples: &[("Count the rules that apply", "kingpost rules count all.clif")],
    },
    Help {
        command: "rules generate",
        one: "a rule is not proved",
        examples: &[("Write the matcher", "kingpost rules generate rules/integer.rules -o rules.rs")],
    },
    Help {
        command: "completions",
        one: "the system failed",
        examples: &[("Write completions for fish", "kingpost completions fish")],
    },
    Help { command: "man", one: "a page cannot be written", examples: &[("Write all pages", "kingpost man man1")] },
];

/// Returns the interface, with exit statuses and examples at the end of each command's help.
pub(crate) fn interface() -> Command {
    let mut command = Args::command().after_help(statuses("the input has an error, or a test failed"));
    for help in COMMANDS {
        let text = format!("{}\n\nExamples:{}", statuses(help.one), examples(help));
        let mut words = help.command.split(' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next());
        command = command.mut_subcommand(first, |command| match second {
            Some(second) => command.mut_subcommand(second, |command| command.after_help(text)),
            None => command.after_help(text),
        });
    }
    command
}

fn statuses(one: &str) -> String {
    format!("Exit status:\n  0  success\n  1  {one}\n  2  the command line is wrong\n  3  there is no memory left")
}

fn examples(help: &Help) -> String {
    help.examples.iter().map(|(purpose, line)| format!("\n  {purpose}:\n    {line}")).collect()
}

/// Returns the sections EXIT STATUS, EXAMPLES and SEE ALSO of a manual page, in the language of `man`. The words of
/// the command are empty for the tool itself.
pub(crate) fn manual_sections(command: &str) -> String {
    let help = COMMANDS.iter().find(|help| help.command == command);
    let one = help.map_or("the input has an error, or a test failed", |help| help.one);
    let mut text = ".SH \"EXIT STATUS\"\n".to_string();
    let statuses = [("0", "success"), ("1", one), ("2", "the command line is wrong"), ("3", "there is no memory left")];
    statuses.iter().for_each(|(number, meaning)| text += &format!(".TP\n{number}\n{}\n", quoted(meaning)));
    if let Some(help) = help {
        text += ".SH EXAMPLES\n";
        for (purpose, line) in help.examples {
            text += &format!(".PP\n{}:\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", quoted(purpose), quoted(line));
        }
    }
    let family = command.split(' ').next().filter(|_| command.contains(' ')).unwrap_or_default();
    let others = COMMANDS.iter().map(|help| help.command).filter(|other| {
        let depth = |words: &str| words.matches(' ').count();
        *other != command && depth(other) == depth(command) && other.starts_with(family)
    });
    let names = std::iter::once("kingpost".to_string()).filter(|_| !command.is_empty());
    let names = names.chain(others.map(|other| format!("kingpost-{}", other.replace(' ', "-"))));
    let names: Vec<String> = names.map(|name| format!("\\fB{}\\fR(1)", quoted(&name))).collect();
    text + &format!(".SH \"SEE ALSO\"\n{}\n", names.join(",\n"))
}

/// Returns a text for `man`.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that examples are command lines of the interface, and that every command has some.
    #[test]
    fn examples_are_command_lines() {
        let mut named = Vec::new();
        for help in COMMANDS {
            named.push(help.command.split(' ').next().unwrap_or_default());
            for (_, line) in help.examples {
                let words = line.split(' ').map(|word| word.trim_matches('\''));
                assert!(
                    line.starts_with(&format!("kingpost {} ", help.command)) || line.ends_with(help.command),
                    "{line}"
                );
                interface().try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
        for command in interface().get_subcommands() {
            assert!(named.contains(&command.get_name()), "{}", command.get_name());
        }
    }
}
