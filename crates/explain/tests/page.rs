//! Checks the page in a browser: it loads without an error, shows its contents, and stays responsive at ten thousand
//! instructions.

use kingpost_codegen::{ALLOCATORS, Compiler, Options, Settings};
use kingpost_explain::{Explanation, RowKind, explain, page, text};
use std::fmt::Write;
use std::process::Command;
use target_lexicon::{Triple, triple};

const FIB: &str = include_str!("../../../filetests/run/fib.clif");

/// Returns a function of about `insts` instructions with calls, loops and more values than registers.
fn large(insts: usize) -> String {
    let mut text = "function %large(i64) -> i64 {\n    fn0 = %callee(i64) -> i64\nblock0(v0: i64):\n".to_string();
    let (mut value, mut block) = (1, 0);
    while value < insts {
        let first = value;
        for k in 0..40 {
            let (x, y) = (value - 1, value.saturating_sub(2 + k % 25).max(if block == 0 { 0 } else { first - 1 }));
            let _ = match k % 20 {
                7 => writeln!(text, "    v{value} = load.i64 notrap v{x}+{}", 8 * k),
                19 => writeln!(text, "    v{value} = call fn0(v{x})"),
                _ => writeln!(text, "    v{value} = iadd v{x}, v{y}"),
            };
            value += 1;
        }
        let (this, next) = (2 * block, 2 * block + 2);
        let _ = writeln!(text, "    jump block{}(v{})\nblock{}(v{value}: i64):", this + 1, value - 1, this + 1);
        let back = if block % 3 == 0 { this + 1 } else { next };
        let _ = writeln!(text, "    brif v{value}, block{back}(v{first}), block{next}(v{value})");
        let _ = writeln!(text, "block{next}(v{}: i64):", value + 1);
        (value, block) = (value + 2, block + 1);
    }
    text + &format!("    return v{}\n}}\n", value - 1)
}

fn explained(source: &str, target: &Triple) -> Explanation {
    let functions = kingpost_reader::parse_functions(source.as_bytes()).unwrap();
    let compiler = |&(name, _): &(&str, _)| {
        let settings = Settings::default().with(|settings| {
            settings.is_pic = false;
            settings.regalloc_algorithm = name.into();
            settings.verify_each = true;
        });
        let options = Options::default().with(|options| options.list = true);
        Compiler::new(target, settings, &[]).unwrap().with_options(options)
    };
    explain(&functions[0], &ALLOCATORS.iter().map(compiler).collect::<Vec<_>>()).unwrap()
}

fn x64() -> Triple {
    triple!("x86_64-unknown-linux-gnu")
}

/// Returns the page after its program has run in a browser; `None` without a browser.
fn browse(page: &str, hash: &str) -> Option<String> {
    browse_at(page, hash, "1500,900")
}

/// Returns the page in a window of this size.
fn browse_at(page: &str, hash: &str, size: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, page).unwrap();
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    let Some(browser) = browser else {
        assert!(std::env::var_os("CI").is_none(), "CI has a browser");
        eprintln!("SKIPPED: page: no chromium");
        return None;
    };
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--dump-dom"])
        .arg(format!("--window-size={size}"))
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}#{hash}", file.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("data-ready="), "the program did not end: {}", String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("data-error="), "{}", attribute(&text, "data-error"));
    Some(text)
}

fn attribute<'a>(text: &'a str, name: &str) -> &'a str {
    text.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(value, _)| value)
}

#[test]
fn values_light_up_in_every_pane() {
    for target in [x64(), triple!("aarch64-unknown-linux-gnu")] {
        let page = page("fib.clif", &[explained(FIB, &target)]);
        let Some(text) = browse(&page, "theme=light&value=v4") else { return };
        // In the text, in the machine code over values, in the allocated code, and in the graph.
        let lit = text.matches(r#"class="hot""#).count();
        assert!(lit >= 8, "v4 lights up {lit} times");
        assert!(text.contains("<tspan data-v=\"v4\" class=\"hot\">"), "in the graph");
        let register = if target == x64() { ">rcx</span>" } else { ">x" };
        assert!(text.contains(&format!("data-v=\"v4\" class=\"hot\"{register}")), "in the allocated code");
        let stepped = browse(&page, "allocator=linear&decision=5").unwrap();
        assert!(stepped.contains("decision") && stepped.contains("later") && stepped.contains("5 of "), "decisions");
        let compared = browse(&page, "compare").unwrap();
        assert!(compared.contains("<body class=\"compare"), "side by side");
    }
}

/// Checks that every text in view is whole, in wide and narrow windows: columns fit, and the pane scrolls sideways.
#[test]
fn columns_fit_their_texts() {
    let page = page("large.clif", &[explained(&large(100), &x64())]);
    for size in ["1500,900", "1000,700", "480,800"] {
        for hash in ["allocator=ssa", "allocator=linear", "compare"] {
            let Some(text) = browse_at(&page, hash, size) else { return };
            assert_eq!(attribute(&text, "data-clipped"), "0", "{size}, {hash}");
        }
    }
}

#[test]
fn a_page_holds_the_rows_in_view() {
    let explanation = explained(&large(10_000), &x64());
    assert!(explanation.code.len() > 9_000);
    let page = page("large.clif", &[explanation]);
    let Some(text) = browse(&page, "allocator=linear&measure") else { return };
    let _: f64 = attribute(&text, "data-scroll").parse().expect("the page has scrolled");
    let rows = text.matches("class=\"row ").count();
    assert!(rows < 300, "only what is in view is in the page, not {rows} rows");
}

/// Returns the text of a link's `data:` address.
fn file(page: &str, kind: &str) -> String {
    let address = page.split_once(&format!("href=\"data:{kind};charset=utf-8,")).expect("a link").1;
    let mut bytes = Vec::new();
    let mut parts = address.split('"').next().unwrap_or_default().split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("an escaped byte"));
        bytes.extend(part[2..].bytes());
    }
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn pictures_and_decisions_are_saved() {
    let explanation = explained(FIB, &x64());
    let page = page("fib.clif", std::slice::from_ref(&explanation));
    let Some(text) = browse(&page, "save") else { return };
    let solution = &explanation.solutions[0];
    let csv = file(&text, "text/csv");
    assert!(csv.starts_with("number,kind,decision,value,other,location,from,to\n1,"), "{csv}");
    let decisions = solution.decisions.iter().filter(|decision| decision.kind != "stage").count();
    assert_eq!(csv.lines().count(), 1 + decisions);
    let svg = file(&text, "image/svg+xml");
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    for (_, name) in &solution.locs {
        assert!(svg.contains(&format!(">{name}</text>")), "{name}");
    }
    assert_eq!(svg.matches("rx=\"4\"").count(), solution.ranges.len(), "a bar for each range");
    let print = text.split_once("<section id=\"print\"").expect("the part for paper").1;
    assert!(print.contains("<h2>Live ranges</h2><svg") && print.contains(">block2"), "the part for paper");
}

#[test]
fn pages_need_nothing_else() {
    let page = page("</script><b>&", &[explained(FIB, &x64())]);
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/").count());
    assert!(!page.contains("https://") && !page.contains("src=\"") && !page.contains("@import"));
    assert!(page.contains("<title>&lt;/script&gt;&lt;b&gt;&amp;</title>"));
    assert_eq!(page.matches("</script>").count(), 3, "titles do not end the data");
}

/// Checks that the ranges of each location do not overlap, and that every operand is within a range of its value.
#[test]
fn live_ranges_hold_what_operands_read() {
    for source in [FIB, &large(2_000)] {
        let explanation = explained(source, &x64());
        for solution in &explanation.solutions {
            for pair in solution.ranges.windows(2).filter(|pair| pair[0].loc == pair[1].loc) {
                assert!(pair[0].to <= pair[1].from, "{}: {pair:?}", solution.allocator);
            }
            for (index, row) in solution.rows.iter().enumerate() {
                let RowKind::Inst { is_dropped: false, .. } = row.kind else { continue };
                for &(vreg, loc) in row.places.iter().filter(|(_, loc)| !loc.is_none()) {
                    let middle = 2 * index as u32 + 1;
                    let holds = |range: &&kingpost_explain::LiveRange| {
                        range.loc == loc && range.from <= middle && middle <= range.to
                    };
                    let name = &explanation.vregs[vreg.as_u32() as usize].name;
                    assert!(
                        solution.ranges.iter().any(|range| holds(&range)),
                        "{}: {name} in {loc}",
                        solution.allocator
                    );
                }
            }
        }
    }
}

#[test]
fn texts_have_names_of_the_text() {
    let mut explanation = explained(FIB, &x64());
    let all = text(&explanation);
    assert!(all.contains("ssa") && all.contains("spill_all") && all.contains("block2:"), "{all}");
    explanation.solutions.truncate(1);
    let one = text(&explanation);
    assert!(one.contains("v6 = iadd.i64 v4, v5") && one.contains("add rcx, rax") && one.contains("v5 rax"), "{one}");
}

#[test]
fn every_allocator_has_decisions() {
    for solution in explained(&large(200), &x64()).solutions {
        let has = |kind| solution.decisions.iter().any(|decision| decision.kind == kind);
        let is_silent = ["fused", "spill_all"].contains(&&*solution.allocator);
        assert!(has("assign") && (has("spill") || !is_silent), "{}", solution.allocator);
    }
}
