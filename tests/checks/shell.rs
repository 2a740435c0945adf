//! Shell scripts: shellcheck, and the shell itself where that is missing.

use crate::Test;
use crate::project::Project;

pub(crate) const TESTS: &[Test] =
    tests![a_finding_of_shellcheck_is_told, without_shellcheck_the_shell_reads_the_script,];

fn a_finding_of_shellcheck_is_told() {
    let project = Project::new(&[], &["shellcheck"]).patient().looping();
    project
        .write("run.sh", "#!/bin/bash\nrm $1\n")
        .says(&["run.sh:2:4 ", "SC2086 (shellcheck): Double quote to prevent"])
        .says_nothing_of(&["did not"]);
    project.write("run.sh", "#!/bin/bash\nrm \"$1\"\n").silent();
}

fn without_shellcheck_the_shell_reads_the_script() {
    let project = Project::new(&[], &[]).patient().looping();
    project.write("run.sh", "#!/bin/bash\nif true; then\n").says(&["run.sh:3", "syntax error"]);
    project.write("run.sh", "#!/bin/bash\necho one\n").silent();
}
