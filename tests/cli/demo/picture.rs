//! The picture in the README: what `ralph demo` prints on a terminal, drawn. `RALPH_UPDATE=1` draws it anew.
//!
//! A dark card with a border of its own: it is read on a light page and on a dark one.

use super::DemoFolder;
use ralph_test_support::{PATIENCE, Run};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

const COLUMNS: usize = 80;
const LETTER: f64 = 8.4;
const LINE: usize = 19;
const EDGE: usize = 18;
const BAR: usize = 34;

/// The id that every document shows.
const SHOWN_ID: &str = "20260131-120000-1a2b";

/// The demo on a terminal, from what the person types to how the loop ends; it is played once.
fn account() -> &'static [String] {
    static ACCOUNT: OnceLock<Vec<String>> = OnceLock::new();
    ACCOUNT.get_or_init(|| account_in(&DemoFolder::new()))
}

fn account_in(place: &DemoFolder) -> Vec<String> {
    let mut command = Command::new("script");
    let line = format!("'{}' demo", place.at("bin/ralph").display());
    command.args(["-q", "-e", "-c", &line, "/dev/null"]).current_dir(place.root.path()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("TERM", "xterm-256color");
    command.env("HOME", place.at("home")).env("TMPDIR", place.at("tmp"));
    let run = Run::of(command, "", PATIENCE).exits(0);
    let lines = run.stdout.lines().map(|line| timeless(line.trim_end_matches('\r')));
    let from_the_start = lines.skip_while(|line| !line.contains("person /ralph"));
    let mut shown: Vec<String> = Vec::new();
    for line in from_the_start {
        if line.contains("Receipts:") {
            return shown;
        }
        shown.push(line);
    }
    panic!("the demo does not end its loop: {shown:#?}");
}

/// With the id that documents show in the place of the loop's own, which is as long.
fn timeless(line: &str) -> String {
    let Some((before, rest)) = line.split_once("Ralph loop ") else { return line.to_owned() };
    let (id, after) = rest.split_at(rest.find([' ', ',']).unwrap_or(rest.len()));
    let is_id = id.len() == SHOWN_ID.len() && id.starts_with("20");
    if is_id { format!("{before}Ralph loop {SHOWN_ID}{after}") } else { line.to_owned() }
}

fn picture(lines: &[String]) -> String {
    let width = 2 * EDGE + (COLUMNS as f64 * LETTER) as usize;
    let height = BAR + 2 * EDGE + LINE * (lines.len() + 1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
         {height}\" role=\"img\">\n<title>A loop from its start to its end, as ralph demo tells it</title>\n\
         <desc>Drawn by a test from what is printed: RALPH_UPDATE=1 cargo test -p ralph --test cli demo::picture</desc>\n\
         <style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         fill:#e6edf3;white-space:pre}}.dim{{fill:#9aa4af}}.c31{{fill:#ff8f87}}.c32{{fill:#56d364}}\
         .c33{{fill:#e3b341}}.c36{{fill:#56d4dd}}</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"#0d1117\" stroke=\"#6e7681\"/>\n",
        width - 1,
        height - 1
    );
    for (n, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        writeln!(svg, "<circle cx=\"{}\" cy=\"17\" r=\"6\" fill=\"{colour}\"/>", EDGE + 6 + 20 * n)
            .unwrap();
    }
    let prompt = ["\u{1b}[2m$\u{1b}[0m ralph demo".to_owned()];
    for (n, line) in prompt.iter().chain(lines).enumerate() {
        let y = BAR + EDGE + LINE * n;
        writeln!(svg, "<text x=\"{EDGE}\" y=\"{y}\">{}</text>", spans(line)).unwrap();
    }
    svg + "</svg>\n"
}

/// A line with its colours; where the loop stands and who acts is told apart from what is said.
fn spans(line: &str) -> String {
    let mut shown = String::new();
    for (n, part) in line.split("\u{1b}[").enumerate() {
        let (code, text) = if n == 0 { ("0", part) } else { part.split_once('m').unwrap() };
        let text = escaped(text);
        match code {
            "0" if text.is_empty() => {}
            "0" if n == 0 && text.len() >= 13 => {
                let (gutter, rest) = text.split_at(13);
                write!(shown, "<tspan class=\"dim\">{gutter}</tspan>{rest}").unwrap();
            }
            "0" => shown.push_str(&text),
            "2" => write!(shown, "<tspan class=\"dim\">{text}</tspan>").unwrap(),
            code => write!(shown, "<tspan class=\"c{code}\">{text}</tspan>").unwrap(),
        }
    }
    shown
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn the_picture_is_what_the_demo_prints() {
    let drawn = picture(account());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/demo.svg");
    if std::env::var_os("RALPH_UPDATE").is_some() {
        fs::write(&path, &drawn).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        drawn == kept,
        "docs/demo.svg is not what is printed; RALPH_UPDATE=1 draws it:\n{drawn}"
    );
}

#[test]
fn the_picture_shows_a_refusal_a_dry_run_and_a_proof_and_fits() {
    let lines = account();
    for words in ["refuses", "dry run", "ends it", "without the change; the original", SHOWN_ID] {
        assert!(lines.iter().any(|line| line.contains(words)), "{words}: {lines:#?}");
    }
    let drawn = picture(lines);
    for class in ["c32", "c33", "c36", "dim"] {
        assert!(drawn.contains(&format!("class=\"{class}\"")), "{class}");
        assert!(drawn.contains(&format!(".{class}{{")), "{class} has no colour");
    }
    // A comment with two hyphens in it would make the whole file unreadable.
    assert!(!drawn.contains("<!--"), "{drawn}");
    let plain = |line: &String| {
        let parts = line.split("\u{1b}[").enumerate();
        parts.map(|(n, part)| if n == 0 { part } else { part.split_once('m').unwrap().1 }).collect()
    };
    let longest = lines.iter().map(plain).map(|line: String| line.chars().count()).max();
    assert!(longest.unwrap() <= COLUMNS, "{lines:#?}");
}

#[test]
fn the_readme_shows_the_picture() {
    assert!(include_str!("../../../README.md").contains("](docs/demo.svg)"));
}
