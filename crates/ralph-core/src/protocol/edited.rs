//! Lists the files that a tool call has written.
//!
//! An editing tool names its file in the input. For a shell command, the client lists the files
//! that it noticed in the tool's response (`bashEditDiff`).

use crate::protocol::event::Input;
use memchr::memmem;
use serde::Deserialize;

/// Tools that edit the file named in their input. Older clients have `MultiEdit`.
const EDITORS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// Files examined per call; a script that rewrites a whole tree is left to the criteria.
const MOST: usize = 20;

/// The member of a shell response that lists the files it wrote.
const LISTED: &str = "bashEditDiff";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload {
    tool_response: Response,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    #[serde(rename = "bashEditDiff")]
    listed: ChangedFiles,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ChangedFiles {
    changed_files: Vec<String>,
}

/// Returns the absolute paths of the files that the call wrote, as far as the client reports them.
pub fn files(input: &Input, payload: &[u8]) -> Vec<String> {
    if EDITORS.contains(&input.tool_name.as_str()) {
        return input.tool_input.path().map(str::to_owned).into_iter().collect();
    }
    if input.tool_name != "Bash" || memmem::find(payload, LISTED.as_bytes()).is_none() {
        return Vec::new();
    }
    // A response of an unknown shape counts as no files.
    let payload: Payload = serde_json::from_slice(payload).unwrap_or_default();
    let mut files = payload.tool_response.listed.changed_files;
    files.truncate(MOST);
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(payload: &str, expected: &[&str]) {
        let input: Input = serde_json::from_str(payload).unwrap();
        assert_eq!(files(&input, payload.as_bytes()), expected, "{payload}");
    }

    #[test]
    fn a_tool_that_edits_names_its_file() {
        for tool in ["Write", "Edit", "MultiEdit"] {
            let payload = format!(r#"{{"tool_name":"{tool}","tool_input":{{"file_path":"/a"}}}}"#);
            check(&payload, &["/a"]);
        }
        check(r#"{"tool_name":"NotebookEdit","tool_input":{"notebook_path":"/n"}}"#, &["/n"]);
        check(r#"{"tool_name":"Read","tool_input":{"file_path":"/a"}}"#, &[]);
        check(r#"{"tool_name":"Write","tool_input":{}}"#, &[]);
    }

    #[test]
    fn what_a_shell_wrote_stands_in_its_response() {
        let bash = |response: &str| format!(r#"{{"tool_name":"Bash","tool_response":{response}}}"#);
        check(&bash(r#"{"bashEditDiff":{"files":[],"changedFiles":["/a","/b"]}}"#), &["/a", "/b"]);
        check(&bash(r#"{"stdout":"bashEditDiff"}"#), &[]);
        let another = r#"{"bashEditDiff":{"changedFiles":["/a"]}}"#;
        check(&format!(r#"{{"tool_name":"Other","tool_response":{another}}}"#), &[]);
        check(&bash(r#"{"bashEditDiff":{"changedFiles":3}}"#), &[]);
        check(&bash(r#""text""#), &[]);
        let many: Vec<String> = (0..30).map(|number| format!("\"/{number}\"")).collect();
        let many = bash(&format!(r#"{{"bashEditDiff":{{"changedFiles":[{}]}}}}"#, many.join(",")));
        let input: Input = serde_json::from_str(&many).unwrap();
        assert_eq!(files(&input, many.as_bytes()).len(), 20);
    }
}
