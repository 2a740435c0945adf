//! Drops a formatter's complaint about a file that cannot be parsed: a compiler or a linter reports
//! the same error, with its position.

use super::item::CheckTarget;
use super::{CheckResult, Checked};
use ralph_core::project::check::CheckKind;
use ralph_core::project::check::finding::Finding;
use ralph_core::project::check::parsers::OutputFormat;

/// Removes the formatters' findings if another check found an error in the same file.
pub(super) fn silence(targets: &[CheckTarget], checked: &mut [Checked]) {
    for target in targets {
        let formatters =
            target.of_kind(CheckKind::Fix).filter(|item| item.check.form == OutputFormat::Whole);
        let formatters: Vec<&str> = formatters.map(|item| item.check.name.as_str()).collect();
        let name = target.name();
        let is_formatter =
            |one: &Checked| one.file == name && formatters.contains(&one.name.as_str());
        if checked.iter().any(|one| !is_formatter(one) && has_error_in(one, &name)) {
            let echoes = checked.iter_mut().filter(|one| is_formatter(one));
            echoes.for_each(forget);
        }
    }
}

fn has_error_in(one: &Checked, file: &str) -> bool {
    match &one.came {
        CheckResult::Found { new, told_before, .. } => {
            let is_in_file = |finding: &Finding| finding.is_error && finding.file == file;
            (one.file == file && *told_before > 0) || new.iter().any(is_in_file)
        }
        _ => false,
    }
}

fn forget(one: &mut Checked) {
    if let CheckResult::Found { new, told_before, .. } = &mut one.came {
        new.clear();
        *told_before = 0;
    }
}
