//! Describes the machine, since a figure without its machine is worth nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::workshop::Workshop;

/// Prints the lines above the table.
pub(crate) fn describe(shop: &Workshop) {
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    println!("machine      {cores} cores, {}, Linux {}", processor(), kernel.trim());
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("unknown").to_owned();
    println!("load         {load} before the first sample");
    println!("hooks        {}", shop.hooks.origin);
    println!("C programs   {}", shop.noop.compiler);
    for (name, args) in [("git", ["--version"]), ("jq", ["--version"]), ("bash", ["--version"])] {
        println!(
            "{name:<12} {}",
            first_line(name, &args).unwrap_or_else(|| "not installed".to_owned())
        );
    }
}

fn processor() -> String {
    let all = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = all.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = named.map_or("unknown processor", |(_, model)| model).to_owned();
    let virtual_machine =
        all.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    if virtual_machine { format!("{model} (virtual machine)") } else { model }
}

pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

pub(crate) fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let answer = Command::new(on_path(program)?).args(args).output().ok()?;
    String::from_utf8_lossy(&answer.stdout).lines().next().map(str::to_owned)
}
