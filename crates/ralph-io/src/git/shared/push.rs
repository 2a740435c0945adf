//! Pushes records.

use super::SharedRepository;
use anyhow::Result;
use ralph_core::tasks::shared::text::ObjectId;

/// What a push reported. It proves only what `settle` in `ralph-core` takes from it.
#[derive(Debug, Default)]
pub struct PushReport {
    pub lines: Vec<StatusLine>,
    /// Git's messages; empty if it printed none.
    pub words: String,
}

/// The line for one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLine {
    pub reference: String,
    /// ` `, `+`, `-`, `*`, `=` or `!`, as `git push --porcelain` explains.
    pub flag: char,
    pub summary: String,
}

/// One reference to be moved.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    pub reference: &'a str,
    /// The value that the server has to find there; `None` if the reference must not exist.
    pub expected: Option<&'a ObjectId>,
    /// The new value; `None` deletes the reference.
    pub new: Option<&'a ObjectId>,
}

impl SharedRepository {
    /// Pushes these updates at once. The server decides about each alone.
    ///
    /// # Errors
    /// If git cannot be started.
    pub fn push(&self, updates: &[Update<'_>]) -> Result<PushReport> {
        let mut options: Vec<String> = [
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--no-atomic",
            "--recurse-submodules=no",
        ]
        .map(str::to_owned)
        .into();
        let mut refspecs = Vec::new();
        for Update { reference, expected, new } in updates {
            let (expected, new) = (text(*expected), text(*new));
            options.push(format!("--force-with-lease={reference}:{expected}"));
            refspecs.push(format!("{new}:{reference}"));
        }
        let call = self.push_to_remote(&options, &refspecs)?;
        let lines = String::from_utf8_lossy(&call.stdout).lines().filter_map(status).collect();
        Ok(PushReport { lines, words: call.words })
    }
}

fn text(id: Option<&ObjectId>) -> &str {
    id.map_or("", ObjectId::as_str)
}

impl PushReport {
    /// The flag of a reference's line, if there is one.
    pub fn flag(&self, reference: &str) -> Option<char> {
        self.lines.iter().find(|line| line.reference == reference).map(|line| line.flag)
    }

    /// The first refusal, in git's words; empty if git reports no refusal.
    pub fn refusal(&self) -> String {
        let refused = self.lines.iter().find(|line| line.flag == '!');
        let words = || self.words.trim().replace('\n', "; ");
        match refused {
            Some(line) => line.summary.clone(),
            None if self.lines.is_empty() => words(),
            None => String::new(),
        }
    }

    /// True if a lock on the server was in the way: of one reference, or of a reftable.
    pub fn is_locked(&self) -> bool {
        ["File exists", "cannot lock references"].iter().any(|words| self.words.contains(words))
    }
}

/// `<flag>\t<from>:<to>\t<summary>`
fn status(line: &str) -> Option<StatusLine> {
    let mut fields = line.splitn(3, '\t');
    let (flag, names, summary) = (fields.next()?, fields.next()?, fields.next()?);
    let mut flag = flag.chars();
    let (flag, None) = (flag.next()?, flag.next()) else { return None };
    let (_, reference) = names.split_once(':')?;
    Some(StatusLine { reference: reference.to_owned(), flag, summary: summary.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_is_told_from_gits_other_lines() {
        let line = status("!\tabc:refs/ralph/shared/l/t/1\t[rejected] (stale info)").unwrap();
        assert_eq!(line.flag, '!');
        assert_eq!(line.reference, "refs/ralph/shared/l/t/1");
        assert_eq!(line.summary, "[rejected] (stale info)");
        assert_eq!(status(" \ta:b\tx..y").unwrap().flag, ' ');
        for other in ["To /tmp/x.git", "Done", "", "!!\ta:b\tx", "*\tab\tx", "*\ta:b"] {
            assert_eq!(status(other), None, "{other}");
        }
    }
}
