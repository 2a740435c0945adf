//! A project that is larger than most: what an edit costs there.

use crate::Test;
use crate::project::Project;
use crate::typescript::ALL;

pub(crate) const TESTS: &[Test] =
    tests![the_second_edit_in_two_thousand_files_is_answered_within_the_budget];

const FILES: usize = 2_000;

/// Module `n` uses three before it, so that an edit is felt far away.
pub(crate) fn module(n: usize) -> String {
    let uses: Vec<usize> = [1, 7, 61].into_iter().filter_map(|step| n.checked_sub(step)).collect();
    let mut text: String =
        uses.iter().map(|of| format!("import {{ value{of} }} from \"./m{of}\";\n")).collect();
    let sum: String = uses.iter().map(|of| format!(" + value{of}.total")).collect();
    text.push_str(&format!(
        "\nexport interface Shape{n} {{\n  name: string;\n  total: number;\n  parts: Record<string, number[]>;\n}}\n"
    ));
    for part in 0..6 {
        text.push_str(&format!(
            "\nexport function part{n}_{part}(of: Shape{n}): number[] {{\n  const found = of.parts[\"{part}\"] ?? [];\n  \
             return found.map((one) => one * {part}).filter((one) => one > of.total);\n}}\n"
        ));
    }
    text.push_str(&format!(
        "\nexport const value{n}: Shape{n} = {{ name: \"{n}\", total: {n}{sum}, parts: {{}} }};\n"
    ));
    text
}

fn the_second_edit_in_two_thousand_files_is_answered_within_the_budget() {
    let modules: Vec<(String, String)> =
        (0..FILES).map(|n| (format!("src/m{n}.ts"), module(n))).collect();
    let modules = modules.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let files: Vec<(&str, &str)> = ALL.into_iter().chain(modules).collect();
    let project = Project::of_node(&files).looping();
    let edit = |n: usize| format!("{}export const late{n}: number = \"{n}\";\n", module(1_500));
    let first = project.write("src/m1500.ts", &edit(1));
    let second = project.write("src/m1500.ts", &edit(2));
    let second = second.says(&["late2", "TS2322"]).says_nothing_of(&["did not finish"]);
    println!(
        "proof | backpressure 2,000 files | {:.1} s first edit, {:.1} s second | within 12 s",
        first.took.as_secs_f64(),
        second.took.as_secs_f64()
    );
    second.came_within(12.0);
}
