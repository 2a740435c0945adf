//! The wall before a plan is agreed to, and what the guard of a loop makes of lines that are hard to read.
//!
//! Lines are generated; those that are let through are run by a real shell in a folder of their own. Another
//! corpus is made with `RALPH_SEED=NUMBER`.

use crate::planning;
use crate::world::World;
use ralph_core::guard;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A generator of numbers that a seed repeats.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn seeded() -> Numbers {
        let seed = std::env::var("RALPH_SEED").ok().and_then(|text| text.parse().ok());
        Numbers(seed.unwrap_or(20_260_131) | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    fn one<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// What would change something: it makes the file `M`.
const PAYLOADS: [&str; 14] = [
    "touch M",
    "`touch M`",
    "$(touch M)",
    "';touch M;'",
    "\";touch M;\"",
    "`;touch M;`",
    ")touch M(",
    "};touch M;{",
    "\ntouch M\n",
    "'`touch M`'",
    "\\`touch M\\`",
    "\\$(touch M)",
    "\nE\ntouch M\n",
    "ls > M",
];

/// Each puts a line into another construct of the shell.
const WRAPPINGS: [&str; 44] = [
    "echo `{}`",
    "echo $({})",
    "echo \"{}\"",
    "echo \"`{}`\"",
    "echo '{}'",
    "\"$({})\"",
    "echo `echo \\`{}\\``",
    "echo \"`echo \\\"{}\\\"`\"",
    "cat `echo \"{}\"`",
    "cat <<E\n{}\nE\n",
    "cat <<'E'\n{}\nE\n",
    "cat <<-E\n\t{}\n\tE\n",
    "cat <<< {}",
    "cat <<< \"{}\"",
    "echo ${x:-{}}",
    "echo \"${x:-{}}\"",
    "echo ${x#{}}",
    "echo ${x@P}{}",
    "echo $(({}))",
    "echo $[{}]",
    "[[ {} ]]",
    "[ {} ]",
    "{ {}; }",
    "({})",
    "cat <({})",
    "echo a{}b",
    "echo #{}",
    "{} # '",
    "case a in {}) ls;; esac",
    "echo $'{}'",
    "echo $\"{}\"",
    "bash -c '{}'",
    "bash -c \"{}\"",
    "x={}",
    "{} | cat",
    "ls;{}",
    "ls\\\n{}",
    "if {}; then ls; fi",
    "for x in {}; do ls; done",
    "echo \"$(cat <<'E'\n{}\nE\n)\"",
    "echo {a,{}}",
    "a[{}]=1",
    "echo ?({})",
    "printf '%s' {}",
];

/// How often a line is put into one more construct.
const PIECES: [&str; 24] = [
    "`", "\\`", "\\\\`", "\\", "\"", "'", "\\\"", "$(", ")", "${x:-", "}", " #", "<<E\n", "\nE\n",
    "$'", ";", "\n", "&", "|", "((", "))", "\\\n", "!", "\t",
];

fn escaped(text: &str, how: usize) -> String {
    match how {
        0..=3 => text.to_owned(),
        4 => text.replace('\\', "\\\\").replace('`', "\\`"),
        5 => {
            text.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
        }
        6 => text.replace('\'', "'\\''"),
        _ => text.replace('`', "\\`").replace('"', "\\\""),
    }
}

/// Lines in which a payload is nested, quoted and cut.
fn lines(numbers: &mut Numbers, n: usize) -> Vec<String> {
    let mut found = BTreeSet::new();
    for wrapping in WRAPPINGS {
        for payload in PAYLOADS {
            found.insert(wrapping.replace("{}", payload));
        }
    }
    while found.len() < n {
        let mut line = numbers.one(&PAYLOADS).to_owned();
        for _ in 0..=numbers.below(4) {
            let how = numbers.below(8);
            line = numbers.one(&WRAPPINGS).replace("{}", &escaped(&line, how));
            if numbers.below(4) == 0 {
                let mut at = numbers.below(line.len() + 1);
                while !line.is_char_boundary(at) {
                    at -= 1;
                }
                line.insert_str(at, numbers.one(&PIECES));
            }
        }
        found.insert(line);
    }
    found.into_iter().collect()
}

/// Runs a line by a real shell in this folder.
pub(crate) fn run_in(folder: &Path, line: &str) {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "5", "bash", "-c", line]).current_dir(folder).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The hook's answer to a command line: the reason of its refusal.
fn refusal(world: &World, line: &str) -> Option<String> {
    let ran = world.tool("Bash", json!({"command": line}));
    (!ran.out().is_empty()).then(|| ran.denied())
}

#[test]
fn however_a_command_is_nested_and_quoted_it_does_not_run_behind_the_wall() {
    let all = lines(&mut Numbers::seeded(), if crate::is_proof() { 12_000 } else { 1_500 });
    let passes = |line: &&String| guard::only_reads(line).is_ok();
    let allowed: Vec<&String> = all.iter().filter(passes).collect();
    assert!(
        allowed.len() > all.len() / 60,
        "a wall that refuses everything proves nothing: {}",
        allowed.len()
    );
    let mut effective = Vec::new();
    std::thread::scope(|scope| {
        let run = |part: Vec<&String>| {
            let folder = tempfile::tempdir().unwrap();
            let mut found = Vec::new();
            for line in part {
                run_in(folder.path(), line);
                if !names(folder.path()).is_empty() {
                    found.push(line.clone());
                    names(folder.path()).iter().for_each(|name| {
                        drop(fs::remove_file(folder.path().join(name)));
                    });
                }
            }
            found
        };
        let parts = allowed.chunks(allowed.len().div_ceil(4)).map(<[&String]>::to_vec);
        let running: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        for part in running {
            effective.extend(part.join().unwrap());
        }
    });
    assert_eq!(effective, [""; 0], "lines that passed the wall and changed something");

    // The executable answers as the rule does.
    let world = planning::awaiting();
    for line in all.iter().step_by(all.len() / 40) {
        let refused = refusal(&world, line);
        assert_eq!(refused.is_some(), guard::only_reads(line).is_err(), "{line}: {refused:?}");
    }
}

#[test]
fn a_command_behind_escaped_backticks_is_refused_by_the_executable() {
    let world = planning::awaiting();
    for line in [
        "echo `echo \\`touch y\\``",
        "cat `echo \"\\$(rm tracked)\"`",
        "echo \"`echo \\\"\\$(touch y)\\\"`\"",
        "echo `echo '`; touch y; echo `'`",
        "echo `echo \\\\\\`echo \\`touch y\\`\\\\\\``",
    ] {
        let refused = refusal(&world, line);
        assert!(
            refused.as_deref().unwrap_or_default().contains("may only read"),
            "{line}: {refused:?}"
        );
    }
    assert_eq!(refusal(&world, "echo `git log -1`; grep '`' tracked"), None);
}

/// By an option, an operand or a variable, programs that read write or start another.
const WRITES: &[&str] = &[
    "git blame --output=F F",
    "git blame --outp=F F",
    "git annotate --output=F F",
    "git annotate --ou F F",
    "git diff --output F",
    "git diff --o=F",
    "git log --output=F -p",
    "git show --output=F",
    "git shortlog --output=F",
    "git stash show --output=F",
    "git stash list --output=F -p",
    "git reflog --output=F -p",
    "git rev-list --output=F HEAD",
    "git whatchanged --output=F",
    "git diff-tree --output=F HEAD",
    "git range-diff --output=F a...b",
    "git cherry --output=F",
    "git grep -O x",
    "git grep -Oless x",
    "git grep -nO x",
    "git grep --open-files-in-pager=x y",
    "git grep --open x",
    "git diff --ext-diff",
    "git log -p --ext",
    "git log -p --textconv",
    "git diff --textc",
    "git cat-file --textconv HEAD:F",
    "git cat-file --filters HEAD:F",
    "git log --show-signature",
    "git log --format=%G?",
    "git tag --format='%(signature)'",
    "git -c core.pager=x log",
    "git -c core.fsmonitor=x status",
    "git -c diff.external=x diff",
    "git -c alias.x=!x x",
    "git -c color.ui=never -c core.fsmonitor=x status",
    "git -c log.showSignature=true log",
    "git --git-dir=sub status",
    "git --git-dir sub log",
    "git --work-tree=x status",
    "git --exec-path=. log",
    "git --config-env=core.pager=X log",
    "git --paginate log",
    "git -p log",
    "git --namespace=x log",
    "git reflog expire --all",
    "git reflog delete HEAD@{0}",
    "git reflog drop --all",
    "git submodule update",
    "git submodule foreach ls",
    "git submodule status --x",
    "git config user.name x",
    "git config --unset user.name",
    "git config --edit",
    "git config -e",
    "git config set user.name x",
    "git config -f F a.b c",
    "git config --file F --edit",
    "git symbolic-ref HEAD refs/heads/x",
    "git symbolic-ref --delete HEAD",
    "git notes add",
    "git bisect start",
    "git sparse-checkout set x",
    "git branch -vd x",
    "git branch -av y",
    "git remote rm x",
    "git var -x y; touch F",
    "yq -i .a=1 F",
    "yq --in-place -y .a=1 F",
    "yq -yi .a=1 F",
    "yq -iy .a=1 F",
    "yq --in-p -y .a=1 F",
    "yq --inplace .a=1 F",
    "yq -s .a F",
    "yq --split-exp .a F",
    "yq -Pi .a=1 F",
    "yq .a=1 F -i",
    "yq eval -i .a=1 F",
    "yq e --i .a=1 F",
    "xxd tracked -b",
    "xxd tracked F",
    "xxd -b tracked F",
    "xxd -r a F",
    "xxd tracked -",
    "xxd -c 8 tracked -p",
    "uniq tracked F",
    "uniq tracked -c",
    "uniq -c tracked F",
    "sort -o F tracked",
    "sort tracked -oF",
    "sort --outp=F tracked",
    "sort -uo F tracked",
    "sort --compress-program=x tracked",
    "tree -o F",
    "tree -aoF",
    "tree --output=F",
    "tree -R -L 1",
    "shuf -o F tracked",
    "shuf --outpu=F tracked",
    "base64 -o F -i tracked",
    "base64 --output=F tracked",
    "find . -fprint F",
    "find . -fprint0 F",
    "find . -fprintf F x",
    "find . -fls F",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -exec sh -c 'rm $0' {} \\;",
    "find . -execdir cat {} +",
    "find . -ok cat {} \\;",
    "find . -okdir cat {} \\;",
    "find . -files0-from x",
    "find . -exec sort -o F {} +",
    "find . -exec xxd {} F \\;",
    "find . -rm",
    "x=-delete; find \"$x\"",
    "find . -unknown",
    "less -o F tracked",
    "less -OF tracked",
    "less --log-file=F tracked",
    "less '+!touch F' tracked",
    "less +x tracked",
    "less -k x tracked",
    "less --lesskey-src=x tracked",
    "more '+!touch F' tracked",
    "less -NoF tracked",
    "zless -oF a",
    "sed -n 'w F' tracked",
    "sed 's/a/b/w F' tracked",
    "sed '1e touch F' tracked",
    "sed 's/x/touch F/e' tracked",
    "sed -i p tracked",
    "sed -ni p tracked",
    "sed --in-pl p tracked",
    "sed ':a;w F' tracked",
    "sed 'b;w F' tracked",
    "sed -n 'ba\nw F' tracked",
    "sed -f x tracked",
    "sed -s -i p tracked",
    "awk '{print > \"F\"}' tracked",
    "awk '{print >> \"F\"}' tracked",
    "awk '{print | \"sh\"}' tracked",
    "awk 'BEGIN {system(\"touch F\")}'",
    "awk 'BEGIN {\"touch F\" | getline}'",
    "awk 'BEGIN {print |& \"sh\"}'",
    "awk 'BEGIN {print(1)(2) > \"F\"}'",
    "awk 'BEGIN {print 1,\n2 > \"F\"}'",
    "awk 'BEGIN {print 1 ||\n2 > \"F\"}'",
    "awk 'BEGIN {print 1, # x\n2 > \"F\"}'",
    "awk 'BEGIN {if (1) /\"/ ; print > \"F\" ; if (1) /\"/}'",
    "awk 'BEGIN {x = 1 / 2 \"/\" ; print > \"F\" \"/\"}'",
    "awk 'BEGIN {printf \"x\" > \"F\"}'",
    "awk 'BEGIN {printf(\"x\") > \"F\"}'",
    "awk '/[/]/ {print > \"F\"} /]/'",
    "awk 'BEGIN {x++ /\"/ 1; print > \"F\" ; y++ /\"/ 1}'",
    "awk 'BEGIN {print \"a\" > \"/dev/stderr\" \"x\"}'",
    "gawk -i inplace 1 tracked",
    "gawk -f x",
    "gawk --include=inplace 1 tracked",
    "gawk -l x 1",
    "gawk -oF 1",
    "gawk -dF 1",
    "gawk -pF 1",
    "gawk '@load \"x\"; 1'",
    "gawk 'BEGIN {f = \"system\"; @f(\"touch F\")}'",
    "awk -f x tracked",
    "awk \"$x\" tracked",
    "awk $x tracked",
    "gawk 1 /inet/tcp/0/h/p",
    "gawk -E x",
    "mawk -W exec x",
    "awk -v",
    "awk",
    "printf 'x%n' PATH; ls",
    "printf '%s%n' x PATH",
    "printf '%5n' PATH",
    "printf -- '%n' PATH",
    "printf '%%%n' PATH",
    "printf -v PATH .; ls",
    "printf \"$x\" PATH",
    "printf '%hhn' PATH",
    "x=/dev/tcp/h/p; cat <$x",
    "cat <\"$x\"",
    "cat </dev/$x/h/p",
    "cat </dev/tcp/h/p",
    "cat <\"/dev/udp/h/p\"",
    "cat </dev/t$x",
    "read y <$x",
    "for x in /dev/tcp/h/p; do cat <$x; done",
    "while read -r l; do echo; done <$x",
    "PATH=. ls",
    "GIT_DIR=sub git status",
    "GIT_PAGER=x git log",
    "env GIT_EXTERNAL_DIFF=x git diff",
    "LESSOPEN='|x' less tracked",
    "RUSTC=./x cargo tree",
    "CARGO_HOME=. cargo tree",
    "RUSTC_WRAPPER=./x cargo metadata",
    "GOFLAGS=-toolexec=x go list",
    "NODE_OPTIONS=x npm ls",
    "npm_config_prefix=. npm ls",
    "AWKPATH=. gawk 1",
    "POSIXLY_CORRECT=1 uniq tracked",
    "MANPAGER=x man ls",
    "PWD=-delete; find \"$PWD\"",
    "OLDPWD=x ls",
    "BAT_PAGER=x bat tracked",
    "PYTHONPATH=. pip list",
    "arch -x86_64 touch F",
    "nm --plugin ./x.so a",
    "objdump --plugin=./x.so a",
    "bat --pager=x tracked",
    "bat cache --build",
    "rg --pre x y",
    "rg --hostname-bin x y",
    "fd -x touch F",
    "fd . --exec touch F",
    "grep --filter=x y",
    "grep --pager=x y",
    "jq -i .a F",
    "file -C -m x",
    "date -s 1",
    "hostname x",
    "mount a b",
    "history -c",
    "history -w F",
    "ulimit -n 5",
    "umask 0",
    "shopt -s extglob",
    "export x=1",
    "alias ls=x",
    "declare x=1",
    "compgen -C x",
    "compgen -F x",
    "compgen -W '$(touch F)'",
    "sysctl -w a=1",
    "sysctl -a a=1",
    "ip addr add 1.2.3.4 dev x",
    "ip link set x up",
    "ip netns exec x ls",
    "ss -K",
    "ss --kill",
    "dmesg -C",
    "dmesg -c",
    "journalctl --vacuum-time=1s",
    "journalctl --rotate",
    "systemctl stop x",
    "systemctl daemon-reload",
    "crontab F",
    "crontab -r",
    "kill 1",
    "kill -9 1",
    "top",
    "top -b x; touch F",
    "npm install",
    "npm ls; npm i",
    "npm run build",
    "npm config set a b",
    "npm view x --script-shell=x",
    "npm pkg set a=b",
    "npm ls --prefix x",
    "npx x",
    "npx x --version",
    "npx x --help",
    "yarn x",
    "yarn x --version",
    "pip install x",
    "pip list --log F",
    "pip list --python x",
    "pip --python x list",
    "pip config set a b",
    "pip cache purge",
    "cargo tree --config x",
    "cargo --config x tree",
    "cargo +x tree",
    "cargo build",
    "cargo tree -Z x",
    "cargo x --version",
    "go env -w A=b",
    "go env -u A",
    "go list -toolexec=x",
    "go list -export ./...",
    "go list -mod=mod ./...",
    "go list -modfile=x",
    "go list -C x",
    "go run .",
    "go tool compile x",
    "go list -compiled ./...",
    "go list -overlay=x",
    "go doc -http",
    "rustc x.rs",
    "rustc --print sysroot=F",
    "rustc --print=sysroot x.rs",
    "rustup update",
    "docker run x",
    "docker exec x ls",
    "docker -H x ps",
    "docker --config x ps",
    "docker ps; docker rm x",
    "docker compose up",
    "docker run x --help",
    "kubectl delete pod x",
    "kubectl get pods --kubeconfig=x",
    "kubectl exec x -- ls",
    "kubectl cluster-info dump --output-directory=F",
    "gh pr view --web",
    "gh pr create",
    "gh api x -X POST",
    "gh api x -f a=b",
    "gh alias set a b",
    "helm install x",
    "tmux ls -F '#(touch F)'",
    "tmux new",
    "tmux ls \\; new",
    "openssl x509 -in a -out F",
    "gzip tracked",
    "gzip -d a.gz",
    "gunzip a.gz",
    "gzip -l -d a.gz",
    "zstdcat -o F a",
    "zstdcat --rm a",
    "xz tracked",
    "unzip a.zip",
    "tar xf a.tar",
    "tar tf a --to-command=x",
    "tar tf h:a",
    "tar -tf a --checkpoint-action=exec=x",
    "7z x a",
    "jar xf a",
    "ar x a",
    "ar r a b",
    "dpkg -i a",
    "rpm -i a",
    "rpm --eval '%(touch F)'",
    "brew install x",
    "apt install x",
    "snap install x",
    "node x --version",
    "node --version x",
    "python3 x --version",
    "python3 -c 1",
    "python3 -m json.tool a F",
    "python3 -v",
    "make --version x",
    "make -n",
    "bash --version -c ls",
    "bash x --version",
    "ruby -v x",
    "perl -v -e 1",
    "./node --version",
    "deploy --version",
    "mysql -v",
    "man -P x ls",
    "man --pager=x ls",
    "man ./x",
    "help -x",
    "xargs -a F rm",
    "echo -C | xargs file",
    "cat x | xargs file",
    "ls | xargs sort",
    "find . | xargs sort",
    "find . -print0 | xargs -0 rm",
    "find . -name x -printf '-oF' | xargs sort",
    "find . -print0 | xargs -0 xxd",
    "xargs -I{} sh -c '{}'",
    "ls | xargs -I{} {}",
    "env -C sub git status",
    "env --chdir=sub git status",
    "env -S 'touch F'",
    "nohup ./x",
    "time -o F ls; touch F",
    "command -p touch F",
    "stdbuf -o0 touch F",
];

#[test]
fn no_option_of_a_program_that_reads_writes_or_starts_another() {
    let passed: Vec<&&str> = WRITES.iter().filter(|line| guard::only_reads(line).is_ok()).collect();
    assert!(passed.is_empty(), "{passed:#?}");
    assert!(WRITES.len() > 350, "{}", WRITES.len());

    // Wherever such a line stands, it stays what it is.
    for wrapping in [
        "ls && {}",
        "echo \"$({})\"",
        "for i in 1; do {}; done",
        "if ls; then {}; fi",
        "ls | {}",
        "! {}",
    ] {
        let wrapped = WRITES.iter().map(|line| wrapping.replace("{}", line));
        let passed: Vec<String> = wrapped.filter(|line| guard::only_reads(line).is_ok()).collect();
        assert!(passed.is_empty(), "{passed:#?}");
    }
    let world = planning::awaiting();
    for line in WRITES.iter().step_by(12) {
        assert!(refusal(&world, line).is_some(), "{line}");
    }
}

/// Lines that were written without a look at the lists above.
#[test]
fn no_line_of_a_second_list_of_changes_passes_the_wall() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/changing.txt");
    let text = fs::read_to_string(file).unwrap();
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with("# ");
    let all: Vec<String> =
        text.lines().filter(is_line).map(|line| line.replace('⏎', "\n")).collect();
    assert!(all.len() > 2000, "{}", all.len());
    let passed: Vec<&String> = all.iter().filter(|line| guard::only_reads(line).is_ok()).collect();
    assert!(passed.is_empty(), "{passed:#?}");

    let world = planning::awaiting();
    for line in all.iter().step_by(all.len() / 30) {
        assert!(refusal(&world, line).is_some(), "{line}");
    }
}

/// A folder of a clone may be a repository of its own without a `.git`, and its monitor a program of anybody's.
#[test]
fn git_runs_in_the_projects_own_repository_only() {
    let mut world = planning::awaiting();
    let sub = world.project().join("sub");
    world.write("src/deep/a", "x");
    world.git("init -q --bare sub");
    let marker = world.root().join("monitor-ran");
    let monitor = format!(
        "\tfsmonitor = \"touch {}; false\"\n\tworktree = .\n\tbare = false\n",
        marker.display()
    );
    let config =
        fs::read_to_string(sub.join("config")).unwrap().replace("\tbare = true\n", &monitor);
    fs::write(sub.join("config"), config).unwrap();
    for line in [
        "git -C sub status",
        "cd sub && git status",
        "(cd ./sub; git status)",
        "git -C src -C ../sub status",
        "cd src; cd ../sub; git status",
        "pushd sub && git status",
        "bash -c 'cd sub; git status'",
        "for d in src sub; do git -C \"$d\" status; done",
        "cd s*b && git status",
        "cd \"$x\" && git status",
        "ls -d sub | xargs -I{} git -C {} status",
        "find . -name sub -exec git -C {} status \\;",
        "git -C /tmp status",
        "git -C \"$(echo sub)\" status",
    ] {
        let refused = refusal(&world, line);
        assert!(refused.is_some(), "{line}");
    }
    for line in [
        "git status",
        "git -C src log -1",
        "git -C src/deep log -1",
        "cd src && git log -1",
        "cd \"$(git rev-parse --show-toplevel)\" && git status",
        "cd sub && ls",
    ] {
        assert_eq!(refusal(&world, line), None, "{line}");
    }
    world.cwd = sub.clone();
    assert!(
        refusal(&world, "git status").is_some(),
        "the conversation went into the folder before"
    );
    assert_eq!(refusal(&world, "ls"), None);
    assert!(!marker.exists());

    // The monitor is a real one: it runs where nobody refuses.
    run_in(&sub, "git status");
    assert!(marker.exists());
}

#[test]
fn in_a_loop_a_line_that_cannot_be_read_exactly_is_refused() {
    let world = World::looping("");
    for (line, says) in [
        ("echo `ls # x`", "backticks"),
        ("echo `echo '`; ralph cancel; echo `'`", "person"),
        ("cat <<E `ls`\nx", "backticks"),
        ("if true; then", "syntax"),
        ("echo `echo \\`ralph cancel\\``", "person"),
        ("cat `echo \"\\$(ralph cancel)\"`", "person"),
        ("echo \"`echo \\\"\\$(ralph cancel)\\\"`\"", "person"),
    ] {
        let refused = refusal(&world, line).unwrap_or_default();
        assert!(refused.contains(says), "{line}: {refused}");
    }
    for line in [
        "git commit -qm \"$(cat <<'E'\nIt's `x`\nE\n)\"",
        "echo `date`",
        "grep -n '```' README.md",
        "cat > a.md <<'E'\n```sh\nls `pwd`\n```\nE\n",
        "python3 - <<'E'\nprint('`')\nE\n",
    ] {
        assert_eq!(refusal(&world, line), None, "{line}");
    }
}
