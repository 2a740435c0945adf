//! The order of a project's own commands: first those that show whether its code is correct.

/// Most useful first.
const NAMES: [&str; 23] = [
    "test",
    "tests",
    "build",
    "lint",
    "typecheck",
    "type-check",
    "check-types",
    "tsc",
    "check",
    "dev",
    "start",
    "serve",
    "run",
    "format",
    "fmt",
    "ci",
    "verify",
    "all",
    "e2e",
    "generate",
    "codegen",
    "migrate",
    "help",
];

/// Moves the useful names to the front, followed by names that start with one of them
/// (`test:unit`). The others keep their order.
pub(super) fn first<T>(tasks: &mut [T], name: impl Fn(&T) -> &str) {
    tasks.sort_by_cached_key(|task| rank(name(task)));
}

fn rank(name: &str) -> usize {
    let place = |wanted: &str| NAMES.iter().position(|known| *known == wanted);
    let head = name.split([':', '-', '_', '.', '/']).next().unwrap_or_default();
    place(name).or_else(|| Some(NAMES.len() + place(head)?)).unwrap_or(2 * NAMES.len())
}

#[cfg(test)]
mod tests {
    #[test]
    fn tests_come_first_then_what_begins_like_them_then_the_rest_as_it_stands() {
        let mut names = ["zoo", "start", "build:web", "test:unit", "lint", "abc", "test"];
        super::first(&mut names, |name| name);
        assert_eq!(names, ["test", "lint", "start", "test:unit", "build:web", "zoo", "abc"]);
    }
}
