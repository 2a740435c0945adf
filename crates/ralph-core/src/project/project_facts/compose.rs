//! Docker Compose: the services, where each comes from, and the ports it is reached at.
//!
//! What a service finds in its environment is never looked at.

use super::{Fact, FileFormat, Project, shape, show};
use serde_json::Value;

/// In the order in which Compose looks for its file.
const FILES: [&str; 4] =
    ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];

/// The most services that are told one by one.
const SERVICES: usize = 12;

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let read = |name: &'static str| Some((name, project.document(name, FileFormat::Yaml)?));
    let (name, document) = FILES.into_iter().find_map(read)?;
    let services: Vec<(&str, &Value)> = shape::members(&document["services"]).collect();
    if services.is_empty() {
        return None;
    }
    let mut lines: Vec<String> =
        services.iter().take(SERVICES).map(|(name, service)| line(name, service)).collect();
    if let Some(others) = services.get(SERVICES..).filter(|others| !others.is_empty()) {
        lines.push(format!("also {}", show::list(others.iter().map(|(name, _)| *name), 20)));
    }
    Some(Fact { heading: format!("{name}: services"), lines })
}

fn line(name: &str, service: &Value) -> String {
    let ports: Vec<String> =
        service["ports"].as_array().into_iter().flatten().filter_map(port).collect();
    let parts = [
        service["image"].as_str().map(|image| format!("image {}", show::quoted(image))),
        build(&service["build"]).map(|from| format!("built from {}", show::quoted(from))),
        some("ports", ports.iter().map(String::as_str).collect()),
        some("profiles", shape::texts(&service["profiles"])),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => show::quoted(name),
        false => format!("{}: {}", show::quoted(name), parts.join(", ")),
    }
}

/// A folder, or a table with one; a table without means the folder of the file.
fn build(build: &Value) -> Option<&str> {
    match build {
        Value::String(folder) => Some(folder),
        Value::Object(_) => Some(build["context"].as_str().unwrap_or(".")),
        _ => None,
    }
}

/// `"8080:80"`, `80`, or a table with the two.
fn port(port: &Value) -> Option<String> {
    let number = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match (number(&port["published"]), number(&port["target"])) {
        (Some(published), Some(target)) => Some(format!("{published}:{target}")),
        (None, Some(target)) => Some(target),
        _ => number(port),
    }
}

fn some(heading: &str, texts: Vec<&str>) -> Option<String> {
    (!texts.is_empty()).then(|| format!("{heading} {}", show::list(texts, 4)))
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::fact;
    use serde_json::json;

    #[test]
    fn services_with_their_origin_and_ports_and_nothing_of_their_environment() {
        let document = json!({"services": {
            "api": {"build": {"context": "./api"}, "ports": [{"target": 80, "published": "8080"}]},
            "db": {"image": "postgres:17", "ports": ["5432:5432", 9000, {}],
                "environment": {"POSTGRES_PASSWORD": "hunter2"}, "profiles": ["dev"]},
            "web": {"build": "."}, "worker": {"build": {"target": "worker"}},
            "x": null,
        }});
        ProjectFixture::new().document("compose.yaml", document).tells(
            fact,
            "compose.yaml: services\n  \
             \"api\": built from \"./api\", ports \"8080:80\"\n  \
             \"db\": image \"postgres:17\", ports \"5432:5432\", \"9000\", profiles \"dev\"\n  \
             \"web\": built from \".\"\n  \
             \"worker\": built from \".\"\n  \
             \"x\"",
        );
    }

    #[test]
    fn many_services_are_only_named() {
        let services: serde_json::Map<_, _> =
            (10..30).map(|n| (format!("s{n}"), json!({"image": "a"}))).collect();
        let world =
            ProjectFixture::new().document("docker-compose.yml", json!({"services": services}));
        let lines = fact(&world).unwrap().lines;
        assert_eq!((lines.len(), &lines[12][..16]), (13, "also \"s22\", \"s23"));
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for document in [json!(3), json!({"services": ["a"]}), json!({"services": {}})] {
            ProjectFixture::new().document("compose.yml", document).tells_nothing(fact);
        }
        let odd =
            json!({"services": {"a": {"image": 3, "build": 3, "ports": "80", "profiles": {}}}});
        ProjectFixture::new()
            .document("compose.yml", odd)
            .tells(fact, "compose.yml: services\n  \"a\"");
    }
}
