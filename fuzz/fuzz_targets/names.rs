//! Names that become files, and the one line of a manifest. Input: a name, and the line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_fuzz::{folder, parts, write};
use ralph_io::store::home::Home;
use ralph_io::store::manifest::{self, ManifestKey};
use ralph_io::{store::lifecycle, store::receipts};
use std::path::{Component, Path};
use std::sync::LazyLock;

static HOME: LazyLock<Home> = LazyLock::new(|| {
    let home = Home::at(folder().join("home"));
    home.prepare().expect("a private home");
    home
});

/// One plain name below a folder, and no way out of it.
fn is_a_name(name: &str) -> bool {
    let path = Path::new(name);
    let only = path.components().collect::<Vec<_>>();
    matches!(only.as_slice(), [Component::Normal(one)] if *one == name) && !name.contains('\0')
}

fuzz_target!(|data: &[u8]| {
    let [name, line] = parts(data);
    let name = String::from_utf8_lossy(name);
    let at = jiff::Timestamp::UNIX_EPOCH;
    let output = receipts::output_name(&name, at);
    assert!(is_a_name(&output) && output.is_ascii() && output.len() < 100, "{output:?}");
    let key = ManifestKey::session(&name);
    if let Some(key) = &key {
        assert_eq!(key, &ManifestKey::Session(name.to_string()), "an id is never changed");
        assert!(is_a_name(&name) && name.len() <= 128 && !name.starts_with(['.']));
    }
    assert!(lifecycle::check_session_id(&name).is_err() || name.is_empty() || key.is_some());

    let key = ManifestKey::session("s").expect("a plain id");
    write(&HOME.manifest_folder().join("s"), line);
    if let Ok(Some(path)) = manifest::read(&HOME, &key) {
        assert!(path.is_absolute());
        let text = path.to_string_lossy();
        assert!(!text.contains(['\0', '\n']));
        manifest::write(&HOME, &key, &path).expect("it can be written");
        assert_eq!(manifest::read(&HOME, &key).ok().flatten(), Some(path.clone()));
        manifest::remove(&HOME, &key, &path.join("another")).expect("another's stays");
        assert_eq!(manifest::read(&HOME, &key).ok().flatten(), Some(path.clone()));
        manifest::remove(&HOME, &key, &path).expect("its own goes");
        assert_eq!(manifest::read(&HOME, &key).ok().flatten(), None);
    }
});
