// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/secret/secret_envelope.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_server.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/files/retry_transient.hpp"

namespace lockstep::comm {

namespace {

// Rank 0's store owns the server, which lives as long as rank 0's own connection.
class ServedStore : public Store {
public:
    ServedStore(std::shared_ptr<SecretEnvelope> envelope, std::unique_ptr<StoreServer> server,
                std::unique_ptr<StoreClient> client)
        : envelope_(std::move(envelope)), server_(std::move(server)), client_(std::move(client)) {}

    void set(const std::string& key, const std::string& value) override {
        client_->set(key, value);
    }
    std::string get(const std::string& key, int timeout_ms) override {
        return client_->get(key, timeout_ms);
    }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        return client_->add(key, amount);
    }
    std::string local_address() const override { return client_->local_address(); }
    std::string key_for(const std::string& purpose) const override {
        return client_->key_for(purpose);
    }

private:
    std::shared_ptr<SecretEnvelope> envelope_;  // others open it until they have joined
    std::unique_ptr<StoreServer> server_;
    std::unique_ptr<StoreClient> client_;
};

// Makes a secret of its own for each job that uses this one, so that the ranks of two jobs never
// meet in one store.
Secret of_job(const Secret& secret, const RankInfo& rank_info) {
    return secret.of_job(rank_info.job + " of " + std::to_string(rank_info.size) + " ranks");
}

bool on_one_host(const RankInfo& rank_info) {
    return rank_info.one_host() || means_this_host(rank_info.master_addr);
}

void require_reach(Reach reach, const RankInfo& rank_info) {
    if (reach == Reach::cluster || on_one_host(rank_info)) return;
    throw Error(ErrorKind::config,
                "ranks on several hosts need a secret that they share, and neither munged nor "
                "PMIx answers on " +
                    rank_info.host + ": set " + Secret::variable +
                    " to the same random text for all of them, or give --secret-file; if all ranks "
                    "are on this host, give --master-addr localhost");
}

// Two ranks that reached rank 0 by loopback addresses of different families could not connect to
// each other.
void keep_one_family(std::vector<SocketAddress>& addresses) {
    const int family = std::any_of(addresses.begin(), addresses.end(),
                                   [](const auto& address) { return address.family() == AF_INET; })
                           ? AF_INET
                           : AF_INET6;
    std::erase_if(addresses, [&](const auto& address) { return address.family() != family; });
}

// Ranks on one host use loopback, whatever the host's name is.
std::vector<SocketAddress> master_addresses(const RankInfo& rank_info) {
    if (rank_info.master_addr.empty() || rank_info.master_port <= 0) {
        throw Error(ErrorKind::config,
                    "nobody said where rank 0 is: give --master-addr and --master-port");
    }
    auto addresses =
        resolve(rank_info.one_host() ? "localhost" : rank_info.master_addr, rank_info.master_port);
    if (on_one_host(rank_info)) keep_one_family(addresses);
    return addresses;
}

// Debian gives the host's own name a loopback address in /etc/hosts, which other hosts cannot
// reach.
std::vector<SocketAddress> serving_addresses(std::vector<SocketAddress> addresses,
                                             const RankInfo& rank_info) {
    const bool only_loopback =
        std::all_of(addresses.begin(), addresses.end(), [](const auto& a) { return a.loopback(); });
    if (on_one_host(rank_info) || !only_loopback) return addresses;
    return {any_address(AF_INET, rank_info.master_port),
            any_address(AF_INET6, rank_info.master_port)};
}

std::vector<int> ports_of(const RankInfo& rank_info) {
    constexpr int last_port = 65535;
    const int most = last_port + 1 - rank_info.master_port;
    if (most < 1)
        throw Error(ErrorKind::config, "--master-port " + std::to_string(rank_info.master_port) +
                                           ": ports go from 1 to 65535");
    std::vector<int> ports(static_cast<std::size_t>(std::min(store_ports, most)));
    std::iota(ports.begin(), ports.end(), rank_info.master_port);
    return ports;
}

struct Served {
    std::vector<FileDescriptor> listeners;
    int port = 0;
};

// Listens on those addresses that belong to this host, all on the same port: the first one that is
// free on all of them.
Served listen_on_first_free(const std::vector<SocketAddress>& addresses,
                            const RankInfo& rank_info) {
    bool taken = false;
    for (const int port : ports_of(rank_info)) {
        Served served{{}, port};
        taken = false;
        for (const auto& address : addresses) {
            auto [socket, failure] = listen_on(address.with_port(port));
            taken = taken || failure == EADDRINUSE || failure == EACCES;
            if (socket) served.listeners.push_back(std::move(socket));
        }
        if (!taken && !served.listeners.empty()) return served;
    }
    if (!taken) {
        throw Error(ErrorKind::config, "rank 0 runs on " + rank_info.host + ", but the address '" +
                                           shown(rank_info.master_addr) +
                                           "' is not this host's: correct --master-addr");
    }
    throw Error(ErrorKind::config, "ports " + std::to_string(rank_info.master_port) + " to " +
                                       std::to_string(ports_of(rank_info).back()) +
                                       " are all taken on " + rank_info.host +
                                       ": give another --master-port");
}

// Holds what rank 0 serves with: the key, and the key in an envelope for the others.
struct Protection {
    Secret key;
    std::string credential;
    std::shared_ptr<SecretEnvelope> envelope;
};

std::unique_ptr<Store> serve_store(const RankInfo& rank_info, Protection protection,
                                   const std::vector<SocketAddress>& addresses, int timeout_ms) {
    auto served = listen_on_first_free(serving_addresses(addresses, rank_info), rank_info);
    StoreLimits limits;
    limits.unproven += rank_info.size * static_cast<int>(addresses.size());
    allow_connections(rank_info.size + limits.unproven);
    auto server = std::make_unique<StoreServer>(std::move(served.listeners), protection.key, limits,
                                                std::move(protection.credential));
    auto client = std::make_unique<StoreClient>(addresses, std::vector<int>{served.port},
                                                std::move(protection.key), timeout_ms);
    return std::make_unique<ServedStore>(std::move(protection.envelope), std::move(server),
                                         std::move(client));
}

// Without enough descriptors connections end as if a stranger had refused them.
void require_descriptors(const RankInfo& rank_info) {
    constexpr rlim_t of_a_rank = 32;
    const auto ranks = static_cast<rlim_t>(rank_info.size);
    const rlim_t least = of_a_rank + (rank_info.rank == 0 ? 2 * ranks : 0);
    allow_connections(0);
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= least) return;
    throw Error(ErrorKind::config, "rank " + std::to_string(rank_info.rank) + " of " +
                                       std::to_string(rank_info.size) + " may have " +
                                       std::to_string(limit.rlim_max) + " files open, and needs " +
                                       std::to_string(least) + ": allow more (ulimit -n)");
}

}  // namespace

void allow_connections(int count) {
    constexpr rlim_t others = 256;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t wanted = std::min(static_cast<rlim_t>(count) + others, limit.rlim_max);
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::unique_ptr<SecretEnvelope> envelope_of(const RankInfo& rank_info) {
    std::unique_ptr<SecretEnvelope> envelope = munge_envelope();
    if (envelope == nullptr && rank_info.source == RankSource::mpi) envelope = pmix_envelope();
    return envelope == nullptr ? file_envelope() : std::move(envelope);
}

std::unique_ptr<Store> open_store(const RankInfo& rank_info, const Secret& secret, int timeout_ms) {
    std::shared_ptr<SecretEnvelope> envelope;
    if (secret.empty()) envelope = envelope_of(rank_info);
    return open_store(rank_info, secret, envelope, timeout_ms);
}

std::unique_ptr<Store> open_store(const RankInfo& rank_info, const Secret& secret,
                                  const std::shared_ptr<SecretEnvelope>& envelope, int timeout_ms) {
    require_descriptors(rank_info);
    const bool sealed = secret.empty();
    require(!sealed || envelope != nullptr, "a store needs a secret or an envelope for it");
    if (sealed) require_reach(envelope->reach(), rank_info);
    const auto addresses = retry_transient(
        timeout_ms, [&] { return master_addresses(rank_info); }, [](const auto&) {});
    if (sealed && rank_info.rank == 0) {
        const Secret made = Secret::make();
        std::string credential = envelope->close(made.text());
        return serve_store(rank_info, {of_job(made, rank_info), std::move(credential), envelope},
                           addresses, timeout_ms);
    }
    if (sealed) {
        const auto unseal = [envelope, rank_info](const std::string& credential) {
            const auto text = envelope->open(credential);
            return text ? std::optional(of_job(Secret(*text), rank_info)) : std::nullopt;
        };
        return std::make_unique<StoreClient>(addresses, ports_of(rank_info), Secret(), timeout_ms,
                                             StoreClient::usual_answer_ms, unseal);
    }
    const Secret key = of_job(secret, rank_info);
    if (rank_info.rank == 0)
        return serve_store(rank_info, {key, "", nullptr}, addresses, timeout_ms);
    return std::make_unique<StoreClient>(addresses, ports_of(rank_info), key, timeout_ms);
}

}  // namespace lockstep::comm
