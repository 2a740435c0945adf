//! Links the executables of an unoptimised build at fixed addresses.
//!
//! The tests start them tens of thousands of times, and a fifth of each start went into the 130,000 addresses that the
//! loader wrote into their data. `.cargo/config.toml` cannot say so: it would hold for libraries of macros too.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_linux =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_linux && variable("PROFILE") == "debug" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
