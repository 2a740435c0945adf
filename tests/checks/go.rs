//! Go: gofmt and vet.

use crate::Test;
use crate::project::Project;

pub(crate) const TESTS: &[Test] = tests![a_finding_of_vet_is_told_and_the_file_is_formatted];

fn a_finding_of_vet_is_told_and_the_file_is_formatted() {
    let project =
        Project::new(&[("go.mod", "module example.invalid/p\n\ngo 1.19\n")], &["go", "gofmt"]);
    let project = project.patient().looping();
    project
        .write(
            "main.go",
            "package main\nimport \"fmt\"\nfunc main() { fmt.Printf(\"%d\\n\", \"x\") }\n",
        )
        .says(&["main.go:5:", "Printf", "vet", "main.go was changed by gofmt"])
        .says_nothing_of(&["did not"]);
}
