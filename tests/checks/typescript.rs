//! One TypeScript project with a compiler, a linter and a formatter.

use crate::Test;
use crate::project::Project;

pub(crate) const TESTS: &[Test] = tests![
    a_type_error_is_told_and_the_file_is_fixed_and_formatted,
    an_old_error_elsewhere_is_not_blamed_and_a_new_one_elsewhere_is_told,
    three_hundred_old_findings_are_counted_in_one_line,
    a_tool_that_wants_the_network_is_ended_and_named,
    a_file_in_order_is_silence,
    what_is_not_installed_is_said_once,
];

pub(crate) const PACKAGE: (&str, &str) = (
    "package.json",
    r#"{"name": "p", "private": true, "type": "module", "devDependencies": {"typescript": "*", "eslint": "*",
"prettier": "*", "vitest": "*"}}"#,
);
pub(crate) const TSCONFIG: (&str, &str) = (
    "tsconfig.json",
    r#"{
  // Comments are allowed here.
  "compilerOptions": {"strict": true, "target": "es2022", "module": "preserve", "noEmit": true,
    "skipLibCheck": true, "types": []},
  "include": ["src"]
}"#,
);
pub(crate) const ESLINT: (&str, &str) = (
    "eslint.config.js",
    r#"import tseslint from "typescript-eslint";
export default [{
  files: ["**/*.ts"],
  languageOptions: { parser: tseslint.parser },
  plugins: { "@typescript-eslint": tseslint.plugin },
  rules: { "prefer-const": "error", "no-debugger": "error", "@typescript-eslint/no-explicit-any": "error" },
}];
"#,
);
pub(crate) const PRETTIER: (&str, &str) = (".prettierrc", "{}\n");
pub(crate) const ALL: [(&str, &str); 4] = [PACKAGE, TSCONFIG, ESLINT, PRETTIER];

/// A project with all tools and these files.
pub(crate) fn project(files: &[(&str, &str)]) -> Project {
    Project::of_node(&[&ALL, files].concat()).patient()
}

fn a_type_error_is_told_and_the_file_is_fixed_and_formatted() {
    let project = project(&[]).looping();
    project
        .write(
            "src/a.ts",
            "let one: number = 'two'\nexport function f(x: any) { return [one,x] }\n",
        )
        .says(&[
            "Ralph checked src/a.ts: 2 new errors.\n",
            "src/a.ts:1:7 error TS2322 (tsc): Type 'string' is not assignable to type 'number'.",
            "src/a.ts:2:22 error @typescript-eslint/no-explicit-any (eslint): Unexpected any.",
            "src/a.ts was changed by eslint, prettier: read it again before you edit it.",
        ])
        .says_nothing_of(&["did not"]);
    assert_eq!(
        project.read("src/a.ts"),
        "const one: number = \"two\";\nexport function f(x: any) {\n  return [one, x];\n}\n"
    );
}

fn an_old_error_elsewhere_is_not_blamed_and_a_new_one_elsewhere_is_told() {
    let project = project(&[
        ("src/old.ts", "export const old: number = \"old\";\n"),
        ("src/a.ts", "export const a: number = 1;\n"),
        ("src/b.ts", "import { a } from \"./a\";\nexport const b: number = a;\n"),
    ])
    .looping();
    project
        .write("src/a.ts", "export const a: string = \"1\";\n")
        .says(&["1 new error.\nsrc/b.ts:2:14 error TS2322 (tsc): ", "1 old finding, "])
        .says_nothing_of(&["src/old.ts"]);
    project.write("src/b.ts", "import { a } from \"./a\";\nexport const b: string = a;\n").silent();
}

fn three_hundred_old_findings_are_counted_in_one_line() {
    let old: String =
        (0..150).map(|n| format!("export const n{n}: number = \"x\" as any;\n")).collect();
    let more: String = (0..150).map(|n| format!("export const m{n}: number = \"x\";\n")).collect();
    let project = project(&[("src/old.ts", &old), ("src/more.ts", &more)]).looping();
    project.write("src/old.ts", &format!("\n{old}")).says_nothing_of(&["new error"]);
    project.write("src/old.ts", &format!("{old}export const late: number = \"\";\n")).says(&[
        "1 new error.\n",
        "error TS2322 (tsc)",
        "300 old findings, from before this work",
    ]);
}

/// It asks an address that nobody has, and waits for the answer.
const ASKS: &str = "exec '$NODE' -e 'require(\"net\").connect(80, \"192.0.2.1\").on(\"error\", () => {}); \
                    setTimeout(() => {}, 300000)'";

fn a_tool_that_wants_the_network_is_ended_and_named() {
    let project = Project::of_node(&ALL);
    let asks = ASKS.replace("$NODE", crate::tools::node().to_str().unwrap());
    project.replace_tool("eslint", &asks);
    let project = project.with_budget(11).looping();
    project
        .write("src/a.ts", "export const a: number = \"\";\n")
        .says(&["\neslint did not finish (it was ended after ", "src/a.ts:1:14 error TS2322 (tsc)"])
        .came_within(13.0);
}

fn a_file_in_order_is_silence() {
    let project = project(&[]).looping();
    project.write("src/a.ts", "export const a: number = 1;\n").silent();
    project.write("src/a.ts", "export const a: number = 2;\n").silent();
}

fn what_is_not_installed_is_said_once() {
    let project = Project::new(&ALL, &[]).patient().looping();
    let first = project.write("src/a.ts", "export const a = 1;\n");
    first.says(&["eslint did not run: ", "prettier did not run: ", "npm install"]);
    project.write("src/a.ts", "export const a = 2;\n").silent();
}
