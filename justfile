# The commands of CONTRIBUTING.md. Each line is plain cargo: `just` is only shorter.

# Lists the recipes.
default:
    @just --list

# Runs the tests whose name contains NAME; `just test NAME --test hooks` builds and runs one test binary alone.
test NAME *OPTIONS:
    cargo test --workspace --locked {{OPTIONS}} -- {{NAME}}

# Runs the unit tests of all crates.
fast:
    cargo test --workspace --locked --lib

# Runs everything that a change has to pass.
ci:
    .ci/run
