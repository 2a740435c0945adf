//! What is shown of the beads of a project.

use crate::project::{calls, project, set, task};
use serde_json::json;
use std::fs;

pub(crate) const TESTS: &[(&str, fn())] = &[
    ("every_view_shows_the_beads_in_each_form_of_an_answer", every_view),
    ("a_list_has_all_of_them_and_asks_for_what_was_left_out", all_of_them),
    ("a_bead_is_shown_with_all_that_is_written_in_it", one),
    ("nothing_of_ralphs_own_is_needed_or_left_behind", no_loop),
    ("where_nothing_is_there_it_is_said", nothing),
    ("the_clients_secrets_are_not_handed_on", secrets),
    ("the_doctor_names_bd_only_where_it_is_used", doctor),
];

const ROWS: [&str; 4] = [
    "bd-1 parse closed",
    "bd-2 print open after bd-1",
    "bd-3 ship open after bd-2",
    "bd-4 key blocked",
];

fn every_view() {
    for form in ["bare", "items", "envelope"] {
        let world = project(&ROWS);
        world.write("project/.beads/form", form);
        let check = |arguments: &str, stdout: &str| task(&world, arguments).check(0, stdout, "");
        check(
            "list",
            "bd-2  ready    print\nbd-3  waiting  ship  (after bd-2)\nbd-4  blocked  key\n1 of 4 tasks done\n",
        );
        check("ready", "bd-2  print\n");
        check(
            "list --all --markdown",
            "- [x] **bd-1** parse (done)\n- [ ] **bd-2** print (ready)\n  - after: bd-1\n\
             - [ ] **bd-3** ship (waiting)\n  - after: bd-2\n- [ ] **bd-4** key (blocked)\n",
        );
        check("show bd-3", "bd-3  ship\n  stands     waiting\n  after      bd-2\n");
        check("deps bd-3", "bd-3 depends on bd-2\n");
        check("deps bd-2", "bd-2 depends on bd-1\n");
        let document = task(&world, "list --all --json").done().json();
        assert_eq!(document["summary"]["ready"], json!(1), "{form}: {document}");
        for drawing in ["waves", "graph", "graph --format dot", "graph --format mermaid"] {
            let drawn = task(&world, drawing).done().stdout;
            assert!(drawn.contains("bd-3") && drawn.contains("ship"), "{drawing}: {drawn}");
        }
    }
}

fn all_of_them() {
    let rows: Vec<String> = (0..230).map(|number| format!("bd-{number} t after bd-x")).collect();
    let mut rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    rows.extend(["bd-x last closed", "bd-r a open", "bd-g gate"]);
    let world = project(&rows);
    let counts = |world| {
        let document = task(world, "list --all --json").done().json();
        let tasks = document["tasks"].as_array().unwrap().clone();
        let deps = tasks.iter().filter(|task| task["deps"] == json!(["bd-x"])).count();
        (tasks.len(), deps, task(world, "ready").done().stdout.lines().count())
    };
    assert_eq!(counts(&world), (233, 230, 232));
    assert_eq!(calls(&world).len(), 2);
    world.write("project/.beads/quirk", "no dependencies in lists");
    assert_eq!(counts(&world), (233, 230, 232));
    assert_eq!(calls(&world).len(), 2 + 4, "two more, for what the list left out");
}

fn one() {
    let world = project(&[]);
    set(
        &world,
        &[
            json!({"id": "bd-1", "title": "print\u{1b}[2J", "status": "deferred", "notes": "a\nlater",
            "description": "All of it.\n\n- each\n", "design": "By hand.", "assignee": "ann",
            "acceptance_criteria": "it prints", "priority": 0}),
        ],
    );
    task(&world, "show bd-1").check(
        0,
        "bd-1  print\\u{1b}[2J\n  stands     blocked\n  done when  it prints\n  owner      ann\n  \
         result     later\n  description:\n    All of it.\n    \n    - each\n  design:\n    By hand.\n",
        "",
    );
}

fn no_loop() {
    let world = project(&ROWS);
    for arguments in ["list", "ready", "show bd-1", "waves", "done bd-2", "block bd-3 --reason x"] {
        task(&world, arguments).done();
    }
    assert!(!world.path("ralph").exists());
    // In a folder of the project, as bd itself.
    fs::create_dir(world.path("project/deep")).unwrap();
    let mut command = world.command(env!("CARGO_BIN_EXE_ralph").as_ref(), "");
    command.current_dir(world.path("project/deep")).args([
        "task",
        "--tracker",
        "bd",
        "show",
        "bd-1",
    ]);
    assert!(command.status().unwrap().success());
}

fn nothing() {
    let world = project(&[]);
    let none = "there are no beads; `bd create NAME` adds one\n";
    for arguments in ["list", "waves", "graph"] {
        task(&world, arguments).check(0, none, "");
    }
    task(&world, "list --all --markdown").check(0, "", "");
    let ready = "ralph: no bead is ready; `ralph task list --tracker bd` shows what is open and what it waits for\n";
    task(&world, "ready").check(1, "", ready);
    task(&world, "claim").check(1, "", ready);
}

fn secrets() {
    let world = project(&ROWS);
    let mut command = world.command(env!("CARGO_BIN_EXE_ralph").as_ref(), "");
    command.env("ANTHROPIC_API_KEY", "sk-not-a-real-one").args([
        "task",
        "ready",
        "--tracker",
        "bd",
    ]);
    assert!(command.status().unwrap().success());
    let calls = calls(&world);
    assert_eq!((calls.len(), &calls[0]["secrets"]), (1, &json!([])));
}

fn doctor() {
    let world = project(&ROWS);
    let line = |world| {
        let said = crate::world::World::ralph(world, &["doctor"]).stdout;
        said.lines().find(|line| line.contains("  beads: ")).map(str::to_owned)
    };
    assert_eq!(line(&world).unwrap(), "ok    beads: `bd` 1.2.2, and 1.0.4 or newer is needed");
    world.write("project/.beads/version", "0.9.0");
    let old = line(&world).unwrap();
    assert!(old.starts_with("warn  beads: `bd` is 0.9.0, and Ralph needs 1.0.4 or newer"), "{old}");
    fs::remove_file(world.path("bin/bd")).unwrap();
    assert!(line(&world).unwrap().starts_with("warn  beads: could not find `bd`; install bd"));
    fs::remove_dir_all(world.path("project/.beads")).unwrap();
    assert_eq!(line(&world), None);
}
