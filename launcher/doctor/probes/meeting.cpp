// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/probes/meeting.hpp"

#include <map>

#include "launcher/doctor/probes/deadline_io.hpp"
#include "runtime/comm/queue/local_communicator.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher::doctor {

namespace {

using std::chrono::milliseconds;

// Serves as the store when there is only one rank.
class LocalStore : public comm::Store {
public:
    void set(const std::string& key, const std::string& value) override { values_[key] = value; }
    std::string get(const std::string& key, int) override {
        const auto found = values_.find(key);
        if (found == values_.end()) throw Error(ErrorKind::peer, "nobody has set " + key);
        return found->second;
    }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        return counters_[key] += amount;
    }
    std::string local_address() const override { return ""; }
    std::string key_for(const std::string&) const override { return ""; }

private:
    std::map<std::string, std::string> values_;
    std::map<std::string, std::int64_t> counters_;
};

std::string key(const std::string& topic, const std::string& of) {
    return "doctor/" + topic + "/" + of;
}

constexpr const char* by_all = "all";

int whole(milliseconds time) { return static_cast<int>(time.count()); }

}  // namespace

Meeting::Meeting(const comm::RankInfo& rank_info, const comm::CommOptions& options)
    : rank_info_(rank_info), options_(options) {
    const bool by_mpi =
        rank_info.source == comm::RankSource::mpi && options.backend != comm::Backend::gloo;
    if (rank_info.size == 1) {
        store_ = std::make_shared<LocalStore>();
        communicator_ = std::make_unique<comm::LocalCommunicator>();
    } else if (by_mpi || options.backend == comm::Backend::mpi) {
        communicator_ = comm::make_communicator(rank_info, options);
        comm::WatchPostOptions post_options;
        post_options.interface = options.interface;
        post_options.timeout_ms = options.timeout_ms;
        comm::WatchStore post = comm::open_watch_post(rank_info, *communicator_, post_options);
        server_ = std::move(post.server);
        store_ = std::move(post.client);
    } else {
        store_ = comm::open_store(rank_info, options.secret, options.timeout_ms);
    }
}

std::string Meeting::local_address() const { return store_->local_address(); }

void Meeting::tell(const std::string& topic, const std::string& text) {
    store_->set(key(topic, std::to_string(rank())), text);
}

std::vector<std::optional<std::string>> Meeting::hear(const std::string& topic,
                                                      milliseconds longest) {
    const auto deadline = Clock::now() + longest;
    std::vector<std::optional<std::string>> heard;
    for (int rank = 0; rank < size(); ++rank) {
        try {
            heard.push_back(
                store_->get(key(topic, std::to_string(rank)), milliseconds_to(deadline)));
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::peer) throw;
            heard.push_back(std::nullopt);
        }
    }
    return heard;
}

void Meeting::announce(const std::string& topic, const std::string& text) {
    store_->set(key(topic, by_all), text);
}

std::string Meeting::await(const std::string& topic, milliseconds longest) {
    return store_->get(key(topic, by_all), whole(longest));
}

void Meeting::gather(const std::string& topic, int count, milliseconds longest) {
    if (store_->add(key(topic, "count"), 1) == count) announce(topic, "");
    await(topic, longest);
}

comm::Communicator& Meeting::communicator() {
    if (!communicator_) communicator_ = comm::make_gloo_communicator(rank_info_, options_, store_);
    return *communicator_;
}

}  // namespace lockstep::launcher::doctor
