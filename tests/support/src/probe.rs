//! A recording hook: keeps its input and prints the answer that the test has chosen.
//!
//! It shows what the client does, without Ralph's own hooks in between.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::run::json_lines;

/// `mkdir` claims the folder, so two copies that start at once never share a number.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
n=1
while ! mkdir "$here/calls/$n" 2>/dev/null; do n=$((n + 1)); done
cat >"$here/calls/$n/stdin.part"
mv "$here/calls/$n/stdin.part" "$here/calls/$n/stdin"
answer="$here/answers/$n"
[ -f "$answer" ] || answer="$here/answers/rest"
if [ -f "$answer" ]; then cat "$answer"; fi
"#;

pub struct Probe {
    folder: PathBuf,
}

impl Probe {
    pub(super) fn create(folder: PathBuf) -> Probe {
        for part in ["calls", "answers"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        let probe = Probe { folder };
        fs::write(probe.path(), SCRIPT).unwrap();
        fs::set_permissions(probe.path(), fs::Permissions::from_mode(0o755)).unwrap();
        probe
    }

    /// The executable to register.
    pub fn path(&self) -> PathBuf {
        self.folder.join("probe.sh")
    }

    /// The entry for a `hooks` list, in exec form.
    pub fn entry(&self) -> Value {
        json!({"type": "command", "command": self.path(), "args": []})
    }

    /// Answers the first calls with these values, in order; later calls get nothing,
    /// or what `answer_rest` sets.
    pub fn answer(&self, answers: &[Value]) -> &Probe {
        for (position, answer) in answers.iter().enumerate() {
            self.write_answer(&(position + 1).to_string(), &answer.to_string());
        }
        self
    }

    /// Answers every call that has no answer of its own.
    pub fn answer_rest(&self, answer: &Value) -> &Probe {
        self.write_answer("rest", &answer.to_string());
        self
    }

    /// The hook's input, call by call.
    pub fn calls(&self) -> Vec<Value> {
        let given = (1..).map(|n| self.folder.join("calls").join(n.to_string()).join("stdin"));
        let given = given.map_while(|path| fs::read_to_string(path).ok());
        given.flat_map(|text| json_lines(&text)).collect()
    }

    fn write_answer(&self, name: &str, text: &str) {
        fs::write(Path::new(&self.folder).join("answers").join(name), text).unwrap();
    }
}
