//! What tools print, read into findings. Input: a letter for the form, a byte for the end (a digit is
//! that exit code, `s` a signal), standard output, standard error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::project::check::answer::{self, CheckReport};
use ralph_core::project::check::baseline::{self, KnownFindings};
use ralph_core::project::check::finding::Finding;
use ralph_core::project::check::parsers::{self, OutputFormat, ParsedOutput, Printed};
use ralph_fuzz::{is_plain, texts};

/// By their letters, from `a` on.
const FORMS: [OutputFormat; 13] = {
    use OutputFormat::*;
    [
        Eslint, Ruff, Tsc, Shellcheck, Cargo, Pyright, Vitest, Pytest, Deno, Supabase, Sarif,
        Plain, Whole,
    ]
};

const FILE: &str = "/project/edited file";

fn end(byte: u8) -> Option<i32> {
    match byte {
        b's' => None,
        b'0'..=b'9' => Some(i32::from(byte - b'0')),
        other => Some(i32::from(other)),
    }
}

fn check_finding(finding: &Finding, form: OutputFormat) {
    let longest = if form == OutputFormat::Whole { 2_000 } else { 1_000 };
    assert_eq!(finding.check, "a check");
    assert!(finding.message.chars().count() <= longest && is_plain(&finding.message));
    for word in [&finding.file, &finding.rule] {
        assert!(word.chars().count() <= 1_000 && !word.contains(char::is_control), "{word:?}");
    }
    assert!(finding.line != Some(0) && finding.column != Some(0), "{finding:?}");
    let kept = serde_json::to_string(finding).expect("a finding can be kept");
    assert_eq!(serde_json::from_str::<Finding>(&kept).ok().as_ref(), Some(finding));
}

/// What was there before is never new, and what is new is told within the client's bound.
fn check_news(found: Vec<Finding>) {
    let before = KnownFindings::Known(found.iter().map(Finding::key).collect());
    let sorted = baseline::sort(found.clone(), &before);
    assert_eq!((sorted.new.len(), sorted.old, sorted.elsewhere), (0, found.len(), 0));
    let is_empty = found.is_empty();
    let told =
        answer::text(&CheckReport { new: found, full: FILE.to_owned(), ..CheckReport::default() });
    assert_eq!(told.is_none(), is_empty);
    let told = told.unwrap_or_default();
    assert!(told.encode_utf16().count() <= 10_000 && is_plain(&told), "{told:?}");
}

/// By which a tool says that it is well, or had nothing to look at, with another code than 0.
fn may_be_well(form: OutputFormat, printed: &Printed<'_>) -> bool {
    match form {
        OutputFormat::Pytest => printed.code == Some(5),
        OutputFormat::Eslint => printed.stdout.contains("File ignored"),
        OutputFormat::Vitest => true,
        _ => false,
    }
}

fn check(form: OutputFormat, printed: &Printed<'_>, said: ParsedOutput) {
    let is_silent = printed.stdout.is_empty() && printed.stderr.is_empty();
    let never_ran = matches!(printed.code, None | Some(126 | 127 | 129..=159));
    match said {
        ParsedOutput::DidNotRun(why) => {
            assert!((1..=360).contains(&why.chars().count()), "{why:?}");
            assert!(is_plain(&why) && !why.contains('\n'), "{why:?}");
            assert!(form != OutputFormat::Whole || printed.code != Some(0), "{why}");
        }
        ParsedOutput::Found(found) => {
            assert!(!never_ran && found.len() <= 2_000);
            found.iter().for_each(|finding| check_finding(finding, form));
            let is_well = found.is_empty();
            assert!(!is_well || printed.code == Some(0) || may_be_well(form, printed));
            assert!(is_well || !(is_silent && printed.code == Some(0)), "{found:?}");
            check_news(found);
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [letter, code, rest @ ..] = data else { return };
    let form = FORMS[usize::from(letter.wrapping_sub(b'a')) % FORMS.len()];
    let [stdout, stderr] = texts(rest);
    let code = end(*code);
    let printed = Printed { check: "a check", file: FILE, stdout: &stdout, stderr: &stderr, code };
    check(form, &printed, parsers::read(form, &printed));
    // With no other form either, as a person may name a wrong one in the settings.
    for form in FORMS {
        check(form, &printed, parsers::read(form, &printed));
    }
});
