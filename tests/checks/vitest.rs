//! The tests that belong to an edited file.

use crate::Test;
use crate::project::Project;
use crate::typescript::{ALL, project};

pub(crate) const TESTS: &[Test] = tests![
    a_related_test_that_fails_is_told_by_name_and_one_that_failed_before_is_not_blamed,
    a_test_that_hangs_is_ended_in_time_and_named,
];

const SUM: &str = "export const sum = (a: number, b: number) => a + b;\n";
const SUM_TEST: &str = r#"import { expect, test } from "vitest";
import { sum } from "./sum";

test("adds two numbers", () => {
  expect(sum(1, 2)).toBe(3);
});
test("was broken before", () => {
  expect(sum(1, 2)).toBe(4);
});
"#;

fn a_related_test_that_fails_is_told_by_name_and_one_that_failed_before_is_not_blamed() {
    let project = project(&[("src/sum.ts", SUM), ("src/sum.test.ts", SUM_TEST)]).looping();
    project
        .write("src/sum.ts", "export const sum = (a: number, b: number) => a - b;\n")
        .says(&["src/sum.test.ts", "adds two numbers", "(vitest)"])
        .says(&["1 new error and 1 new warning", "-1 to be 4"])
        .says(&["(it failed before this work, in another way)"])
        .says_nothing_of(&["did not"]);
    project.write("src/sum.ts", SUM).says_nothing_of(&["adds two numbers", "did not"]);
}

fn a_test_that_hangs_is_ended_in_time_and_named() {
    let hangs = r#"import { test } from "vitest";
import "./wait";
test("hangs", () => new Promise(() => {}), 600_000);
"#;
    let files = [("src/wait.ts", "export {};\n"), ("src/wait.test.ts", hangs)];
    let project = Project::of_node(&[&ALL[..], &files].concat()).looping();
    let edit = project.write("src/wait.ts", "export const wait: number = 1;\n");
    edit.says_nothing_of(&["did not"]).came_within(10.0);
    let late = project.late();
    late.says(&["Ralph checked src/wait.ts.\nvitest did not finish (it was ended after "]);
}
