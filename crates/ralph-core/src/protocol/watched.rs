//! The files that decide whether a loop is held, and which of their parts count.
//!
//! The client writes its settings itself, for example a permission that the user grants at a dialog. So of
//! them only what decides which hooks run counts.

use crate::text::hex::sha256;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What a watched file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchedKind {
    /// Settings of the client, of the user or of a project.
    ClientSettings,
    /// Ralph's own settings.
    RalphSettings,
    /// The hooks of a plugin that is enabled.
    PluginHooks,
    /// A place from which the client loads plugins and mods.
    Loaded,
    /// An executable of Ralph. Too large to be read at each start, so each write of it is a change.
    Executable,
}

/// The members of the client's settings that decide which hooks run, and with which programs.
const COUNTING: [&str; 5] =
    ["hooks", "disableAllHooks", "env", "enabledPlugins", "extraKnownMarketplaces"];

impl WatchedKind {
    pub const ALL: [WatchedKind; 5] = [
        WatchedKind::ClientSettings,
        WatchedKind::RalphSettings,
        WatchedKind::PluginHooks,
        WatchedKind::Loaded,
        WatchedKind::Executable,
    ];

    /// The word for it in a record.
    pub fn word(self) -> &'static str {
        match self {
            WatchedKind::ClientSettings => "client",
            WatchedKind::RalphSettings => "ralph",
            WatchedKind::PluginHooks => "plugin",
            WatchedKind::Loaded => "loaded",
            WatchedKind::Executable => "executable",
        }
    }

    /// A digest of what counts in such a file; `None` for a file that is not there. A settings file without
    /// anything that counts is the same as none, and so is an empty file: the client's sandbox puts one where a command may
    /// not write.
    pub fn digest(self, content: Option<&[u8]>) -> String {
        let content = content.filter(|text| !text.is_empty());
        let parsed: Option<BTreeMap<String, Value>> = match (self, content) {
            (WatchedKind::ClientSettings, None) => Some(BTreeMap::new()),
            (WatchedKind::ClientSettings, Some(text)) => serde_json::from_slice(text).ok(),
            _ => None,
        };
        let Some(mut settings) = parsed else {
            return content.map(sha256).unwrap_or_default();
        };
        settings.retain(|name, _| COUNTING.contains(&name.as_str()));
        sha256(settings.iter().map(|(name, value)| format!("{name}={value}\n")).collect::<String>())
    }
}

/// What counts in the client's list of installed plugins, in this folder. The client updates those that it has by itself,
/// so their names count, and folders that are not its own.
pub fn of_installed(list: &[u8], plugins: &Path) -> String {
    let own = plugins.join("cache");
    let list: Value = serde_json::from_slice(list).unwrap_or_default();
    let mut counting = String::new();
    for (id, copies) in list["plugins"].as_object().into_iter().flatten() {
        let paths = copies.as_array().into_iter().flatten();
        let paths = paths.filter_map(|copy| copy["installPath"].as_str());
        let others: Vec<_> = paths.filter(|path| !Path::new(path).starts_with(&own)).collect();
        counting += &format!("{id} {others:?}\n");
    }
    counting
}

/// What became of a watched file, for the user.
pub fn change(kind: WatchedKind, path: &str, is_there: bool) -> String {
    let whose = match kind {
        _ if !is_there => return format!("`{path}` was removed"),
        WatchedKind::ClientSettings => "the hooks of",
        WatchedKind::RalphSettings => "the settings",
        WatchedKind::PluginHooks => "the hooks of a plugin in",
        WatchedKind::Loaded => "what the client loads from",
        WatchedKind::Executable => "the executable",
    };
    format!("{whose} `{path}` changed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> String {
        WatchedKind::ClientSettings.digest(Some(text.as_bytes()))
    }

    #[test]
    fn what_the_client_writes_into_its_settings_changes_nothing_that_counts() {
        let before = settings(r#"{"hooks":{"Stop":[]},"model":"a"}"#);
        for same in [
            r#"{"model":"b","hooks":{"Stop":[]}}"#,
            r#"{ "hooks": { "Stop": [] }, "permissions": {"allow": ["Bash(npm test)"]} }"#,
        ] {
            assert_eq!(settings(same), before, "{same}");
        }
        for other in [
            r#"{"model":"a"}"#,
            r#"{"hooks":{"Stop":[{}]}}"#,
            r#"{"hooks":{"Stop":[]},"disableAllHooks":true}"#,
            r#"{"hooks":{"Stop":[]},"env":{"PATH":"/x"}}"#,
            r#"{"hooks":{"Stop":[]},"enabledPlugins":{"x@y":true}}"#,
            r#"{"hooks":{"Stop":[]},"extraKnownMarketplaces":{}}"#,
            "{\"hooks\":",
        ] {
            assert_ne!(settings(other), before, "{other}");
        }
    }

    #[test]
    fn a_settings_file_without_anything_that_counts_is_none() {
        let none = WatchedKind::ClientSettings.digest(None);
        assert_eq!(settings(r#"{"permissions":{"allow":[]}}"#), none);
        assert_eq!(settings(""), none);
        assert_ne!(settings(r#"{"disableAllHooks":true}"#), none);
    }

    #[test]
    fn each_byte_of_another_file_counts() {
        for kind in [WatchedKind::RalphSettings, WatchedKind::PluginHooks, WatchedKind::Loaded] {
            assert_ne!(kind.digest(Some(b"{}")), kind.digest(Some(b"{ }")));
            assert_ne!(kind.digest(Some(b" ")), kind.digest(None));
            assert_eq!(kind.digest(Some(b"")), kind.digest(None));
        }
    }

    #[test]
    fn an_update_by_the_client_changes_nothing_that_counts_of_its_list() {
        let list = |id: &str, path: &str| {
            let list =
                serde_json::json!({"plugins": {id: [{"installPath": path, "version": "1"}]}});
            of_installed(list.to_string().as_bytes(), Path::new("/c/plugins"))
        };
        let before = list("a@m", "/c/plugins/cache/m/a/1");
        assert_eq!(list("a@m", "/c/plugins/cache/m/a/2"), before);
        assert_ne!(list("b@m", "/c/plugins/cache/m/a/1"), before);
        assert_ne!(list("a@m", "/elsewhere"), before);
        assert_eq!(of_installed(b"{}", Path::new("/")), of_installed(b"", Path::new("/")));
    }

    #[test]
    fn a_change_names_the_file_and_what_became_of_it() {
        let said = |kind, is_there| change(kind, "/f", is_there);
        assert_eq!(said(WatchedKind::ClientSettings, true), "the hooks of `/f` changed");
        assert_eq!(said(WatchedKind::RalphSettings, true), "the settings `/f` changed");
        assert_eq!(said(WatchedKind::PluginHooks, true), "the hooks of a plugin in `/f` changed");
        for kind in WatchedKind::ALL {
            assert_eq!(said(kind, false), "`/f` was removed");
        }
    }
}
