//! Only a run that Ralph makes by itself, in the environment that was recorded when the loop started, is
//! proof. Each lie here makes `ralph verify` pass where the criterion does not hold.

use crate::world::{CommandOutput, World, executable};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const TOKEN: &str = "RALPH_COMPLETE";

/// A way in which an environment makes a criterion pass that does not hold.
struct Lie {
    name: &'static str,
    /// What the criterion needs; without it the lie cannot be told here.
    needs: &'static str,
    criterion: &'static str,
    /// Files, by path and content; a path in `bin/` is executable.
    files: &'static [(&'static str, &'static str)],
    /// The variable and its value; `@` stands for the project's folder.
    variable: (&'static str, &'static str),
}

const CHECK: (&str, &str) = ("check.sh", "grep -q yes done\n");

const LIES: &[Lie] = &[
    Lie {
        name: "a grep of its own first on PATH",
        needs: "grep",
        criterion: "grep -q yes done",
        files: &[("bin/grep", "#!/bin/sh\nexit 0\n")],
        variable: ("PATH", "@/bin:$PATH"),
    },
    Lie {
        name: "a shell of its own first on PATH",
        needs: "sh",
        criterion: "sh check.sh",
        files: &[CHECK, ("bin/sh", "#!/bin/true\n")],
        variable: ("PATH", "@/bin:$PATH"),
    },
    Lie {
        name: "a file that each bash reads",
        needs: "bash",
        criterion: "bash check.sh",
        files: &[CHECK, ("lie.sh", "exit 0\n")],
        variable: ("BASH_ENV", "@/lie.sh"),
    },
    Lie {
        name: "an exported function",
        needs: "bash",
        criterion: "bash check.sh",
        files: &[CHECK],
        variable: ("BASH_FUNC_grep%%", "() { true; }"),
    },
    Lie {
        name: "an option that has bash run nothing",
        needs: "bash",
        criterion: "bash check.sh",
        files: &[CHECK],
        variable: ("SHELLOPTS", "noexec"),
    },
    Lie {
        name: "a module that node loads first",
        needs: "node",
        criterion: "node check.js",
        files: &[
            ("check.js", "process.exit(require('fs').existsSync('done') ? 0 : 1)\n"),
            ("lie.js", "process.exit(0)\n"),
        ],
        variable: ("NODE_OPTIONS", "--require=@/lie.js"),
    },
    Lie {
        name: "a module that python loads first",
        needs: "python3",
        criterion: "python3 check.py",
        files: &[
            ("check.py", "import os, sys; sys.exit(0 if os.path.exists('done') else 1)\n"),
            ("lib/sitecustomize.py", "import os; os._exit(0)\n"),
        ],
        variable: ("PYTHONPATH", "@/lib"),
    },
    Lie {
        name: "an option that has make run nothing",
        needs: "make",
        criterion: "make check",
        files: &[("Makefile", "check:\n\tgrep -q yes done\n")],
        variable: ("MAKEFLAGS", "-n"),
    },
    Lie {
        name: "a makefile that make reads first",
        needs: "make",
        criterion: "make check",
        files: &[
            ("Makefile", "check:\n\t$(CMD) yes done\nCMD ?= grep -q\n"),
            ("lie.mk", "CMD = true\n"),
        ],
        variable: ("MAKEFILES", "@/lie.mk"),
    },
    Lie {
        name: "a module that perl loads first",
        needs: "perl",
        criterion: "perl check.pl",
        files: &[("check.pl", "exit(-e 'done' ? 0 : 1)\n"), ("lib/Lie.pm", "exit 0;\n")],
        variable: ("PERL5OPT", "-I@/lib -MLie"),
    },
    Lie {
        name: "a variable that filters tests",
        needs: "sh",
        criterion: "sh check.sh",
        files: &[("check.sh", "[ -n \"$TEST_FILTER\" ] || grep -q yes done\n")],
        variable: ("TEST_FILTER", "none"),
    },
    Lie {
        name: "a variable that skips tests",
        needs: "sh",
        criterion: "sh check.sh",
        files: &[("check.sh", "[ -n \"$SKIP_SLOW\" ] || grep -q yes done\n")],
        variable: ("SKIP_SLOW", "1"),
    },
    Lie {
        name: "a configuration that git reads instead",
        needs: "git",
        criterion: "git config --get work.done",
        files: &[("lie.config", "[work]\n\tdone = yes\n")],
        variable: ("GIT_CONFIG_GLOBAL", "@/lie.config"),
    },
    Lie {
        name: "a configuration of git that answers",
        needs: "git",
        criterion: "git holds",
        files: &[],
        variable: ("GIT_CONFIG_PARAMETERS", "'alias.holds=!true'"),
    },
    Lie {
        name: "a home with another configuration",
        needs: "git",
        criterion: "git holds",
        files: &[("lie/.gitconfig", "[alias]\n\tholds = !true\n")],
        variable: ("HOME", "@/lie"),
    },
    Lie {
        name: "a folder that cd goes to",
        needs: "sh",
        criterion: "cd sub && grep -q yes done",
        files: &[("sub/x", ""), ("lie/sub/done", "yes\n")],
        variable: ("CDPATH", "@/lie"),
    },
];

/// How a command gets a variable.
const FORMS: [&str; 9] = [
    "env '{name}'={value} {command}",
    "export '{name}'={value}; {command}",
    "{name}={value} {command}",
    "bash -c 'env \"$@\" {command}' x '{name}'={value}",
    "declare -x {name}={value}; {command}",
    "(export {name}={value}; {command})",
    "nohup env '{name}'={value} {command}",
    "printf '%s' {value} | { IFS= read -r v; env \"{name}=$v\" {command}; }",
    "cat > ../wrap.sh <<'E'\nexec env '{name}'={value} {command}\nE\nbash ../wrap.sh",
];

/// A name that only `env` can set.
fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

impl Lie {
    fn value(&self, world: &World) -> String {
        let value = self.variable.1.replace('@', &world.project().display().to_string());
        match value.strip_suffix("$PATH") {
            Some(first) => format!("{first}{}", world.env["PATH"]),
            None => value,
        }
    }

    fn world(&self) -> World {
        let world = World::new();
        for (path, content) in self.files {
            world.write(path, content);
            if path.starts_with("bin/") {
                make_executable(&world.project().join(path));
            }
        }
        world.start(&format!(
            "--stall-limit 99 --max-iterations 999 --ac \"it holds={}\"",
            self.criterion
        ));
        world
    }

    /// The line in the form, with the value quoted for a shell; none where the form cannot set it.
    fn line(&self, world: &World, form: &str, command: &str) -> Option<String> {
        let (name, value) = (self.variable.0, self.value(world));
        let takes_any = form.starts_with("env") || form.contains("env ");
        // Bash does not let its own options be set, but takes them from the environment.
        if !takes_any && (!is_plain(name) || name == "SHELLOPTS") {
            return None;
        }
        let quoted = format!("'{}'", value.replace('\'', r"'\''"));
        let line = form.replace("{name}", name).replace("{value}", &quoted);
        Some(line.replace("{command}", command))
    }
}

fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The line as the model's shell runs it.
fn shell(world: &World, line: &str) -> CommandOutput {
    let folder = Path::new(executable("ralph")).parent().unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", line]).env_clear().envs(&world.env).current_dir(world.project());
    command.env("R", executable("ralph")).env("H", executable("ralph-stop-hook"));
    if world.has_entry() {
        command.env("S", world.state_path());
    }
    command.env("D", folder);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    CommandOutput { success: output.status.success(), text }
}

/// True for a program that runs in a world.
fn is_there(world: &World, program: &str) -> bool {
    match program {
        "sh" | "bash" | "grep" => true,
        _ => shell(world, &format!("{program} --version")).success,
    }
}

fn criterion(world: &World) -> Value {
    world.state()["acceptance_criteria"][0].clone()
}

#[track_caller]
fn unproven(world: &World, what: &str) {
    assert!(world.has_entry(), "{what}: the loop is over");
    assert_eq!(criterion(world)["verified"], json!(false), "{what}");
}

/// Ends the hook's input with a request, as the client would give it.
fn forged_request(world: &World) -> String {
    let members = json!({"last_assistant_message": TOKEN, "stop_hook_active": false,
        "background_tasks": [], "session_crons": []});
    let payload = world.root().join("payload.json");
    fs::write(&payload, world.payload("Stop", members).to_string()).unwrap();
    format!("$H settings < {}", payload.display())
}

/// Tells the lie, in every form for the proof and else in two, to `ralph verify` and to the hook; returns how many were told.
fn tell(number: usize, lie: &Lie) -> usize {
    let world = lie.world();
    if !is_there(&world, lie.needs) {
        println!("{}: there is no {} here", lie.name, lie.needs);
        return 0;
    }
    let request = forged_request(&world);
    let (mut told, mut believed) = (0, 0);
    let some = [FORMS[0], FORMS[1 + number % (FORMS.len() - 1)]];
    for form in if crate::is_proof() { &FORMS[..] } else { &some[..] } {
        let Some(line) = lie.line(&world, form, "$R verify") else { continue };
        let what = format!("{}: {line}", lie.name);
        believed += usize::from(shell(&world, &line).success);
        unproven(&world, &what);
        let line = lie.line(&world, form, &request).unwrap();
        let answer = shell(&world, &line);
        unproven(&world, &format!("{what} and a request: {answer:?}"));
        told += 2;
    }
    assert!(believed > 0, "{}: the lie is none", lie.name);
    let reason = world.step(&world.stop(TOKEN));
    assert!(reason.contains("AC-1 failed"), "{}: {reason}", lie.name);
    unproven(&world, lie.name);
    told
}

#[test]
fn a_run_in_an_environment_of_the_models_choosing_proves_nothing() {
    let next = std::sync::Mutex::new(LIES.iter().enumerate());
    let told: usize = std::thread::scope(|scope| {
        let work = || {
            let mut told = 0;
            loop {
                let lie = next.lock().unwrap().next();
                let Some((number, lie)) = lie else { return told };
                told += tell(number, lie);
            }
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(told > if crate::is_proof() { 100 } else { 30 }, "{told} were told");
    println!("{told} runs, no proof");
}

#[test]
fn honest_work_is_proven_after_every_lie() {
    let world = LIES[0].world();
    let lie = "PATH=$PWD/bin:$PATH $R verify";
    assert!(shell(&world, lie).success, "the lie is believed by who tells it");
    let told = world.ralph(&["status"]).text;
    assert!(told.contains("only the run at a request for"), "{told}");
    world.stop(TOKEN).goes_on();
    world.write("done", "yes\n");
    assert!(world.ralph(&["verify"]).success);
    unproven(&world, "a help");
    world.stop(TOKEN).ends("Ralph: done in ");
}

/// Ways to have the hidden commands make a proof. `$T` is a folder of the model's own.
const FORGERIES: [&str; 18] = [
    "$R delegate criteria $S < /dev/null",
    "yes | $R delegate criteria $S",
    "yes | env -i PATH=$PATH HOME=$HOME $R delegate criteria $S",
    "yes | exec -a ralph-stop-hook $R delegate criteria $S",
    "(exec -a ralph-stop-hook bash -c 'yes | $R delegate criteria $S; :')",
    "cp /bin/bash $T/ralph-stop-hook; $T/ralph-stop-hook -c 'yes | $R delegate criteria $S; :'",
    "ln -s /bin/bash $T/ralph-stop-hook; $T/ralph-stop-hook -c 'yes | $R delegate criteria $S; :'",
    "cp $R $T/ralph; cp /bin/bash $T/ralph-stop-hook; $T/ralph-stop-hook -c 'yes | $T/ralph delegate criteria $S; :'",
    "cp $R $T/copy; yes | $T/copy delegate criteria $S",
    "yes | setsid $R delegate criteria $S",
    "yes | setsid -w $R delegate criteria $S",
    "yes | nohup $R delegate criteria $S",
    "yes | timeout 9 $R delegate criteria $S",
    "echo $S | xargs $R delegate criteria",
    "find $S -exec $R delegate criteria {} \\;",
    "yes | $R delegate criteria $S --restored PATH",
    "yes | perl -e 'exec @ARGV' $R delegate criteria $S",
    "yes | RALPH_HOME=$T $R delegate criteria $S",
];

#[test]
fn nobody_but_the_hook_has_a_criterion_settled() {
    let world = LIES[0].world();
    for (number, forgery) in FORGERIES.iter().enumerate() {
        let folder = world.root().join(format!("own-{number}"));
        fs::create_dir(&folder).unwrap();
        for lie in ["", "export PATH=$PWD/bin:$PATH; "] {
            let said = shell(&world, &format!("T={}; export T; {lie}{forgery}", folder.display()));
            unproven(&world, &format!("{lie}{forgery}: {said:?}"));
        }
    }
    world.write("done", "yes\n");
    for forgery in FORGERIES.iter().filter(|forgery| !forgery.contains("$T")) {
        shell(&world, forgery);
        unproven(&world, &format!("what would hold: {forgery}"));
    }
    world.stop(TOKEN).ends("Ralph: done in ");
}

#[test]
fn a_variable_that_differs_has_its_recorded_value_and_is_named() {
    let mut world = LIES[0].world();
    let lie = LIES[0].value(&world);
    world.set("PATH", &lie);
    world.set("NODE_OPTIONS", "--trace-warnings");
    let reason = world.step(&world.stop(TOKEN));
    assert!(reason.contains("AC-1 failed"), "{reason}");
    assert!(reason.contains("with the recorded values of NODE_OPTIONS, PATH"), "{reason}");
    assert_eq!(criterion(&world)["receipt"]["restored"], json!(["NODE_OPTIONS", "PATH"]));
    let told = world.ralph(&["status"]).text;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("ran with the recorded values of NODE_OPTIONS, PATH."), "{told}");
    world.write("done", "yes\n");
    let ended = world.stop(TOKEN).ends("Ralph: done in ").message();
    assert!(ended.contains("recorded values of NODE_OPTIONS, PATH"), "{ended}");
}

#[test]
fn no_secret_is_recorded() {
    let mut world = World::new();
    let secrets = [
        ("CARGO_REGISTRY_TOKEN", "s3cr3t-a"),
        ("npm_config__authToken", "s3cr3t-b"),
        ("PIP_INDEX_URL", "https://user:s3cr3t-c@host/simple"),
        ("UV_INDEX_PRIVATE_PASSWORD", "s3cr3t-d"),
        ("GIT_HTTP_PASSWORD", "s3cr3t-e"),
        ("TEST_API_KEY", "s3cr3t-f"),
    ];
    secrets.iter().for_each(|(name, value)| world.set(name, value));
    world.start("--ac 'it holds=grep -q yes done'");
    world.stop(TOKEN).goes_on();
    let recorded = world.state()["environment"].clone();
    for (name, _) in secrets {
        assert!(recorded["digests"][name].is_string(), "{name}: {recorded}");
    }
    assert!(recorded["values"]["PATH"].is_string(), "{recorded}");
    for (path, (_, bytes)) in world.listing(&world.ralph_home()) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("s3cr3t"), "{}", path.display());
    }
}

/// A process that stands for a client until it is dropped.
struct Stand(Child);

impl Stand {
    fn new() -> Stand {
        Stand(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }

    fn end(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn another_client_brings_its_own_environment_once_the_first_is_gone() {
    let mut world = World::new();
    world.write("bin/tool", "#!/bin/sh\ngrep -q yes done\n");
    make_executable(&world.project().join("bin/tool"));
    let (first, second) = (Stand::new(), Stand::new());
    world.set("CLAUDE_PID", &first.id());
    world.start("--stall-limit 99 --ac 'it holds=grep -q yes done'");
    // A name is easily written into an environment while the first client lives.
    world.set("CLAUDE_PID", &second.id());
    world.set("NODE_OPTIONS", "--trace-warnings");
    world.stop(TOKEN).goes_on();
    assert_eq!(criterion(&world)["receipt"]["restored"], json!(["NODE_OPTIONS"]));
    first.end();
    world.write("work", "1");
    let reason = world.step(&world.stop(TOKEN));
    assert!(reason.contains("with other values than at the start of NODE_OPTIONS"), "{reason}");
    let receipt = criterion(&world)["receipt"].clone();
    assert_eq!(
        (&receipt["differs"], &receipt["restored"]),
        (&json!(["NODE_OPTIONS"]), &Value::Null)
    );
    world.write("done", "yes\n");
    let ended = world.stop(TOKEN).ends("Ralph: done in ").message();
    assert!(!ended.contains("NODE_OPTIONS"), "named once: {ended}");
    second.end();
}

#[test]
fn a_request_runs_each_criterion_once_and_a_proven_one_not_again() {
    let world = World::new();
    let count = |name: &str| {
        fs::read_to_string(world.root().join(name)).unwrap_or_default().lines().count()
    };
    let counted = |name: &str, command: &str| {
        format!("--ac \"{name}=echo x >> {}; {command}\"", world.root().join(name).display())
    };
    world.start(&format!(
        "--stall-limit 99 {} {} {}",
        counted("a", "test -f tracked"),
        counted("b", "grep -q yes done"),
        counted("c", "test -f tracked")
    ));
    let all = || [count("a"), count("b"), count("c")];
    assert!(!world.ralph(&["verify"]).success);
    assert_eq!(all(), [1, 1, 1]);
    world.stop(TOKEN).goes_on();
    assert_eq!(all(), [2, 2, 2], "a help spares no run");
    world.stop(TOKEN).goes_on();
    assert_eq!(all(), [2, 2, 2], "nothing has changed");
    assert!(!world.ralph(&["verify"]).success);
    world.stop(TOKEN).goes_on();
    assert_eq!(all(), [3, 4, 3], "a help takes no proof away");
    world.write("done", "yes\n");
    world.stop(TOKEN).ends("Ralph: done in ");
    assert_eq!(all(), [5, 6, 5], "at the end each runs once more, and in no other place it counts");
}

/// A tool that a project proves itself by. It fails where a variable is set that no project sets.
const TOOL: &str = "#!/bin/sh\n[ \"$WANTED\" = \"\" ] || exit 9\ngrep -q yes done.c\n";

fn put_tool(path: PathBuf, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    make_executable(&path);
}

/// What makes a project's tool ready, and the command that runs it.
type Manager = (fn(&mut World), &'static str);

/// What stands on a person's `PATH` before the client starts goes on to work, and so does what a
/// command finds by itself.
#[test]
fn the_tool_managers_of_a_project_work() {
    let all: [Manager; 5] = [
        (shims, "tool"),
        (active_environment, "tool"),
        (environment_of_the_project, ".venv/bin/tool"),
        (store_of_packages, "result/bin/tool"),
        (programs_of_a_package, "npm run --silent check"),
    ];
    for (prepare, command) in crate::sample(all.to_vec(), 3) {
        let mut world = World::new();
        if command.starts_with("npm") && !is_there(&world, "npm") {
            continue;
        }
        prepare(&mut world);
        proves(&world, command);
    }
}

/// A folder of shims, as mise and asdf have it: the shim looks for the tool by the environment.
fn shims(world: &mut World) {
    let manager = world.root().join("home/.local/share/mise");
    let shim = "#!/bin/sh\nexec \"$MISE_DATA_DIR/installs/tool/1/bin/tool\" \"$@\"\n";
    put_tool(manager.join("shims/tool"), shim);
    put_tool(manager.join("installs/tool/1/bin/tool"), TOOL);
    let path = format!("{}:{}", manager.join("shims").display(), world.env["PATH"]);
    world.set("PATH", &path);
    world.set("MISE_DATA_DIR", &manager.display().to_string());
}

/// A virtual environment that was active before the client started.
fn active_environment(world: &mut World) {
    let folder = world.project().join(".venv");
    put_tool(folder.join("bin/tool"), TOOL);
    world.set("VIRTUAL_ENV", &folder.display().to_string());
    let path = format!("{}:{}", folder.join("bin").display(), world.env["PATH"]);
    world.set("PATH", &path);
}

/// One that is named by its path, as the model makes it during the loop.
fn environment_of_the_project(world: &mut World) {
    world.write(".gitignore", ".venv\nnode_modules\n");
    put_tool(world.project().join(".venv/bin/tool"), TOOL);
}

/// A store of packages, as nix has it: links that lead out of the project.
fn store_of_packages(world: &mut World) {
    let store = world.root().join("store/hash-tool");
    put_tool(store.join("bin/tool"), TOOL);
    std::os::unix::fs::symlink(store, world.project().join("result")).unwrap();
}

/// The programs of a package, which npm puts in front of `PATH` itself.
fn programs_of_a_package(world: &mut World) {
    let package = r#"{"name": "p", "version": "1.0.0", "scripts": {"check": "tool"}}"#;
    world.write("package.json", package);
    world.write(".gitignore", "node_modules\n");
    put_tool(world.project().join("node_modules/.bin/tool"), TOOL);
}

#[track_caller]
fn proves(world: &World, command: &str) {
    world.start(&format!("--stall-limit 99 --ac 'it holds={command}'"));
    let reason = world.step(&world.stop(TOKEN));
    assert!(reason.contains("AC-1 failed (exit code"), "{command}: {reason}");
    world.write("done.c", "yes\n");
    world.stop(TOKEN).ends("Ralph: done in ");
    let archived = &world.archived()[0]["acceptance_criteria"][0]["receipt"];
    assert_eq!(
        (&archived["by"], &archived["restored"]),
        (&json!("hook"), &Value::Null),
        "{command}"
    );
}
