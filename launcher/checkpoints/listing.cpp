// SPDX-License-Identifier: Apache-2.0
#include "launcher/checkpoints/listing.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "launcher/checkpoints/stored_run.hpp"
#include "launcher/model_folder/adapters.hpp"
#include "launcher/model_folder/model_folder.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/checkpoint/checkpoint_names.hpp"
#include "runtime/train/checkpoint/manifest.hpp"
#include "runtime/train/checkpoint/weight_index.hpp"
#include "runtime/train/folder/lock_file.hpp"
#include "runtime/train/folder/retry_reading.hpp"

namespace lockstep::launcher::checkpoints {

namespace fs = std::filesystem;

namespace {

using Options = std::map<std::string, std::string>;

std::int64_t number(const Options& options, const std::string& name, std::int64_t otherwise) {
    const auto found = options.find(name);
    if (found == options.end()) return otherwise;
    std::int64_t value = otherwise;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    return value;
}

void require_size(const std::string& folder, const train::ListedFile& file) {
    const std::string path = folder + "/" + file.name;
    std::error_code failure;
    const std::uintmax_t bytes = fs::file_size(path, failure);
    if (failure) throw Error(ErrorKind::data, path + ": " + failure.message());
    if (bytes != file.bytes)
        throw Error(ErrorKind::data, path + ": has " + std::to_string(bytes) + " bytes of " +
                                         std::to_string(file.bytes));
}

// Fills `listed` and returns the options of the run.
Options look_into(const std::string& path, ListedCheckpoint& listed) {
    const train::Manifest manifest = train::read_manifest(path);
    listed.format = manifest.version;
    listed.bytes = manifest.bytes();
    listed.parts = static_cast<int>(manifest.version == 1 ? 1 : manifest.parts(path).size());
    for (const train::ListedFile& file : manifest.files) require_size(path, file);
    const StoredRun run = read_stored_run(path);
    if (const std::string wrong = train::wrong_name(path); !wrong.empty())
        throw Error(ErrorKind::data, wrong);
    listed.step = run.trainer.step;
    listed.updates = run.trainer.updates;
    listed.epochs = run.trainer.epochs;
    return run.options;
}

// Returns nothing for an entry that is of no checkpoint.
std::optional<ListedState> state_of(const std::string& entry) {
    if (train::is_checkpoint_name(entry)) return ListedState::complete;
    const std::size_t mark = entry.find_first_of('.');
    if (!train::is_checkpoint_name(entry.substr(0, mark))) return std::nullopt;
    const std::string rest = entry.substr(mark);
    if (rest.starts_with(train::damaged_mark)) return ListedState::set_aside;
    if (rest.starts_with(".tmp-")) return ListedState::unfinished;
    return std::nullopt;
}

// Newest first; of one step the checkpoint itself first.
bool comes_before(const ListedCheckpoint& left, const ListedCheckpoint& right) {
    if (left.step != right.step) return left.step > right.step;
    return left.name < right.name;
}

// Lists the entries of one folder of checkpoints.
class Lister {
public:
    explicit Lister(const std::string& model_folder)
        : folder_(train::checkpoints_of(model_folder)) {}

    std::vector<ListedCheckpoint> list() {
        for (const std::string& name : train::names_in(folder_))
            if (const auto state = state_of(name)) add(name, *state);
        std::ranges::sort(found_, comes_before);
        tell_what_keeps();
        return found_;
    }
    // Returns the options of the newest checkpoint; none if it has none.
    const Options& options() const noexcept { return options_; }
    const std::string& newest() const noexcept { return newest_; }

private:
    void add(const std::string& name, ListedState state) {
        const std::string path = folder_ + "/" + name;
        ListedCheckpoint listed;
        listed.name = name;
        listed.state = state;
        listed.step = train::step_of(name.substr(0, name.find('.')));
        listed.saved = written_at(path + "/" + train::manifest_file);
        try {
            Options options = train::retry_reading([&] { return look_into(path, listed); });
            if (state == ListedState::complete && listed.step > newest_step_) {
                newest_step_ = listed.step;
                newest_ = path;
                options_ = std::move(options);
            }
        } catch (const Error& error) {
            if (!path_exists(path)) return;  // a run has removed it
            listed.problem = error.what();
            if (state == ListedState::complete)
                listed.state = error.kind() == ErrorKind::data ? ListedState::damaged
                                                               : ListedState::unreadable;
        }
        found_.push_back(std::move(listed));
    }

    void tell_what_keeps() {
        if (options_.empty()) return;
        const std::int64_t keep = number(options_, "keep", 2);
        const std::int64_t every = number(options_, "keep-every-n-steps", -1);
        std::int64_t newer = 0;
        for (ListedCheckpoint& listed : found_) {
            if (listed.state != ListedState::complete) continue;
            if (newer++ < keep) listed.kept_by.push_back("--keep " + std::to_string(keep));
            if (every > 0 && listed.step % every == 0)
                listed.kept_by.push_back("--keep-every-n-steps " + std::to_string(every));
        }
    }

    std::string folder_, newest_;
    std::int64_t newest_step_ = -1;
    Options options_;
    std::vector<ListedCheckpoint> found_;
};

std::optional<ListedModel> model_of(const std::string& folder, const Lister& lister) {
    const std::string file =
        folder + "/" + (is_adapter_folder(folder) ? adapter_weights_file : train::weights_file);
    const std::string path = path_exists(file) ? file : folder + "/" + train::weight_index_file;
    if (!path_exists(path)) return std::nullopt;
    ListedModel model;
    model.file = fs::path(path).filename();
    for (const std::string& part : path == file ? std::vector{file} : train::files_of_index(path)) {
        std::error_code none;
        model.bytes += fs::file_size(part, none);
        if (none) return std::nullopt;
    }
    model.saved = written_at(path);
    if (lister.newest().empty()) return model;
    try {
        const StoredRun run = read_stored_run(lister.newest());
        model.best = run.trainer.validation.best;
        const auto metric = run.options.find("validation-metric");
        if (metric != run.options.end()) model.metric = metric->second;
    } catch (const Error&) {
        // The checkpoint has gone meanwhile.
    }
    return model;
}

void add_writer(const std::string& folder, Listing& listing) {
    try {
        const train::LockContent lock = train::read_lock(folder + "/" + train::lock_name);
        if (!lock.there) return;
        listing.writer = "a run that its lock does not name";
        if (!lock.owner) return;
        listing.writer = train::name(*lock.owner) + " since " + lock.owner->since;
        if (train::state_of(*lock.owner, train::this_process()) == train::OwnerState::gone)
            std::swap(listing.writer, listing.ended);
    } catch (const Error& error) {
        listing.writer = std::string("not known: ") + error.what();
    }
}

}  // namespace

const char* name(ListedState state) noexcept {
    switch (state) {
        case ListedState::complete:
            return "complete";
        case ListedState::damaged:
            return "damaged";
        case ListedState::set_aside:
            return "set aside";
        case ListedState::unfinished:
            return "unfinished";
        case ListedState::unreadable:
            break;
    }
    return "unreadable";
}

Listing list_checkpoints(const std::string& model_folder) {
    if (!is_folder(model_folder))
        throw Error(ErrorKind::config, model_folder + ": is no folder; name a model's folder");
    if (!holds_model(model_folder) && !path_exists(train::checkpoints_of(model_folder)))
        throw Error(ErrorKind::config, model_folder +
                                           ": holds neither config.json nor checkpoints; name a "
                                           "model's folder");
    Listing listing;
    listing.folder = model_folder;
    Lister lister(model_folder);
    listing.checkpoints = lister.list();
    listing.model = model_of(model_folder, lister);
    add_writer(model_folder, listing);
    return listing;
}

}  // namespace lockstep::launcher::checkpoints
