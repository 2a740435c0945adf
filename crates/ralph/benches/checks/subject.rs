//! The project that is edited: modules of 64 lines, one of them with a test.

use crate::project::{Project, module};
use crate::tools;
use std::process::Command;
use std::time::{Duration, Instant};

/// Functions per file, which make about 64 lines.
const PARTS: usize = 10;
const EDITED: &str = "src/m150.ts";

/// The commands that the pattern runs after an edit, in its order.
const PATTERN: &str = "\
npx --no-install tsc --noEmit
npx --no-install eslint --fix src/m150.ts
npx --no-install prettier --write src/m150.ts
npx --no-install vitest run src/m150.test.ts
";

const CONFIGURATIONS: [(&str, &str); 4] = [
    (
        "package.json",
        r#"{"private": true, "type": "module", "devDependencies": {"typescript": "*", "eslint": "*", "prettier": "*", "vitest": "*"}}"#,
    ),
    (
        "tsconfig.json",
        r#"{"compilerOptions": {"strict": true, "target": "es2022", "module": "preserve", "noEmit": true, "skipLibCheck": true, "types": []}, "include": ["src"]}"#,
    ),
    (
        "eslint.config.js",
        r#"import tseslint from "typescript-eslint";
export default [{ files: ["**/*.ts"], languageOptions: { parser: tseslint.parser }, rules: { "prefer-const": "error" } }];
"#,
    ),
    (".prettierrc", "{}\n"),
];

const TEST: &str = r#"import { expect, test } from "vitest";
import { value150 } from "./m150";

test("has a name", () => {
  expect(value150.name).toBe("150");
});
"#;

pub(crate) struct Subject {
    project: Project,
}

impl Subject {
    /// A project of so many modules.
    pub(crate) fn new(n_modules: usize) -> Subject {
        let modules: Vec<(String, String)> =
            (0..n_modules).map(|n| (format!("src/m{n}.ts"), version_of(n, 0))).collect();
        let modules = modules.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        let files: Vec<(&str, &str)> =
            CONFIGURATIONS.into_iter().chain(modules).chain([("src/m150.test.ts", TEST)]).collect();
        let project = Project::of_node(&files);
        let bin = project.world.root().join("bin/npx");
        std::os::unix::fs::symlink(tools::find("npx").unwrap(), bin).unwrap();
        // The bench measures time; a deadline would cut it short on a busy machine. How long an edit
        // waits stays as users have it.
        project.world.settings("[backpressure]\nbudget_seconds = 110\n");
        Subject { project: project.with_patient_hook().looping() }
    }

    /// An edit that changes the module's exports: the time until the hook answers, and the time until
    /// all checks have ended, those beside the work included.
    pub(crate) fn ours(&self, round: usize) -> [Duration; 2] {
        let began = Instant::now();
        let answer = self.project.write(EDITED, &version_of(150, 2 * round + 1));
        assert!(!answer.text.contains("did not"), "{}", answer.text);
        let late = self.project.late().silent();
        [answer.took, began.elapsed().saturating_sub(late.took)]
    }

    /// The time of the pattern's commands after an edit of the same kind.
    pub(crate) fn pattern(&self, round: usize) -> Duration {
        self.project.world.write(EDITED, &version_of(150, 2 * round + 2));
        let mut shell = Command::new("sh");
        shell.args(["-ec", PATTERN]).env_clear().envs(&self.project.world.env);
        shell.current_dir(self.project.world.project());
        let began = Instant::now();
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        began.elapsed()
    }

    /// The time of the answer to an edit of a file to which no check applies.
    pub(crate) fn nothing_applies(&self) -> Duration {
        self.project.write("notes.xyz", "one").silent().took
    }
}

/// Module `n`; each version exports another constant.
fn version_of(n: usize, version: usize) -> String {
    format!("{}\nexport const version{version} = {version};\n", module(n, PARTS))
}
