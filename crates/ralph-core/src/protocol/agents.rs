//! The agents that Ralph ships, and what would take the place of one. Measured with 2.1.328: of two agents with one
//! name the client takes the project's before the user's, whatever the file is called.

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../agents/", $name, ".md")))),*]
    };
}

const SHIPPED: [(&str, &str); 9] = shipped![
    "Ralph-v2-Executor",
    "Ralph-v2-Planner",
    "Ralph-v2-Questioner",
    "Ralph-v2-Reviewer",
    "ralph-worker",
    "ralplan-architect",
    "ralplan-critic",
    "ralplan-metis",
    "ralplan-planner",
];

/// True for the name of one of these agents, with or without the plugin's prefix.
pub fn is_shipped(kind: &str) -> bool {
    let name = kind.strip_prefix("ralph:").unwrap_or(kind);
    SHIPPED.iter().any(|(shipped, _)| *shipped == name)
}

/// Which agent of Ralph's a project's file would replace, as words; `None` if the text is one that Ralph ships, or an
/// agent of another name. `stem` is the name that the client may give a file without one.
pub fn replaces(text: &str, stem: &str) -> Option<String> {
    if SHIPPED.iter().any(|(_, shipped)| *shipped == text) {
        return None;
    }
    let mut names = names(text);
    names.push(Some(stem));
    names.into_iter().find_map(|name| match name {
        Some(name) => is_shipped(name).then(|| format!("another agent `{name}` than Ralph's")),
        None => {
            Some("an agent whose name is not on a line `name: x`, so it may be Ralph's".to_owned())
        }
    })
}

/// The names in a front matter; `None` for each that is not plain. The client knows every form that YAML has for a
/// member, and the last of several counts; here only a line of the form `name: x` is read.
fn names(text: &str) -> Vec<Option<&str>> {
    let Some(rest) = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r']).strip_prefix("---")
    else {
        return Vec::new();
    };
    let lines = rest.split('\n').take_while(|line| line.trim_end() != "---");
    let lines = lines.flat_map(|line| line.split(['\r', '\u{85}', '\u{2028}', '\u{2029}']));
    let mut lines =
        lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')).peekable();
    let mut found = Vec::new();
    // Then this may be the indent of all members.
    found.extend(lines.peek().filter(|line| line.starts_with(char::is_whitespace)).map(|_| None));
    found.extend(lines.filter_map(|line| {
        let may_be_a_key =
            |line: &str| line.starts_with(['"', '\'', '&', '!', '*']) && line.contains(':');
        if line.starts_with(['?', '{', ':']) || line.starts_with("<<") || may_be_a_key(line) {
            return Some(None);
        }
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == "name").then(|| plain(value.trim()))
    }));
    found
}

fn plain(value: &str) -> Option<&str> {
    let first = value.chars().next()?;
    if first.is_alphanumeric() {
        let end = [" #", "\t#"].iter().filter_map(|mark| value.find(mark)).min();
        return Some(value[..end.unwrap_or(value.len())].trim_end());
    }
    let inner = value.strip_prefix(['"', '\''])?.strip_suffix(first)?;
    (!inner.contains(['\\', '"', '\''])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(members: &str) -> Option<String> {
        replaces(&format!("---\n{members}\ndescription: x\n---\nIt holds.\n"), "")
    }

    #[test]
    fn what_the_client_takes_for_an_agent_of_ralphs_is_named_in_each_form() {
        for (name, text) in SHIPPED {
            assert_eq!(replaces(text, ""), None);
            assert_eq!(names(text), [Some(name)]);
            assert!(replaces(&format!("{text} "), "").unwrap().contains(name));
            assert!(is_shipped(&format!("ralph:{name}")));
        }
        // Each was taken by 2.1.328.
        for form in [
            "name: ralplan-critic",
            "name: 'ralplan-critic'",
            "name: \"ralplan\\x2dcritic\"",
            "\"n\\x61me\": ralplan-critic",
            "name : ralplan-critic",
            "name\t: ralplan-critic # mine",
            "x: &a ralplan-critic\nname: *a",
            "name: >-\n  ralplan-critic",
            "<<: {name: ralplan-critic}",
            "name: foo\nname: ralplan-critic",
            "name: ralplan-critic\nfoo: a: b: c",
            "color: red\rname: ralplan-critic",
            "!!str name: ralplan-critic",
            "  name: ralplan-critic",
            "{name: ralplan-critic, x: y}",
        ] {
            assert!(of(form).is_some(), "{form}");
            assert!(of(&form.replace('\n', "\r\n")).is_some(), "{form}");
        }
        assert!(replaces("\u{feff}---  \nname: ralplan-critic\n---  \n", "").is_some());
        assert!(replaces("It holds.", "ralplan-critic").is_some());
    }

    #[test]
    fn an_agent_of_another_name_is_the_projects_own() {
        for form in [
            "name: reviewer",
            "name: \"my reviewer\"\ntools:\n- Read\nhooks:\n  Stop: []",
            "name: Ralplan-Critic",
            "# name: ralplan-critic\nname: critic # of ralplan-critic",
            "name: a\ndescription: Use it: <example>\n<example>\n  name: ralplan-critic",
            "color: red",
        ] {
            assert_eq!(of(form), None, "{form}");
        }
        assert_eq!(replaces("name: ralplan-critic\n", "notes"), None);
    }
}
