// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/gpu_world.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "runtime/core/error.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::size_t field_bytes = 64, reason_bytes = 256;
constexpr std::array fields{&GpuUser::host, &GpuUser::uuid, &GpuUser::pci, &GpuUser::name,
                            &GpuUser::chosen};
constexpr std::size_t user_bytes = fields.size() * field_bytes + reason_bytes;

void write(const std::string& text, std::byte* to, std::size_t bytes) {
    std::memcpy(to, text.data(), std::min(text.size(), bytes - 1));
}

std::string read(const std::byte* from) { return reinterpret_cast<const char*>(from); }

GpuUser read_user(const std::byte* from) {
    GpuUser user;
    for (const auto field : fields) {
        user.*field = read(from);
        from += field_bytes;
    }
    user.without_nccl = read(from);
    return user;
}

using Ranks = std::vector<std::size_t>;

std::string names_of(const Ranks& ranks, const std::string& host) {
    std::string names;
    for (const std::size_t rank : ranks)
        names += (names.empty() ? "rank " : " and rank ") + std::to_string(rank);
    return names + " on " + host;
}

// Groups the ranks by host and by the member `key`.
std::map<std::pair<std::string, std::string>, Ranks> grouped(const std::vector<GpuUser>& users,
                                                             std::string GpuUser::*key) {
    std::map<std::pair<std::string, std::string>, Ranks> groups;
    for (std::size_t rank = 0; rank < users.size(); ++rank)
        groups[{users[rank].host, users[rank].*key}].push_back(rank);
    return groups;
}

std::size_t distinct(const std::vector<GpuUser>& users, const Ranks& ranks,
                     std::string GpuUser::*key) {
    std::set<std::string> values;
    for (const std::size_t rank : ranks) values.insert(users[rank].*key);
    return values.size();
}

std::string why_nccl_refuses(const std::vector<GpuUser>& users) {
    std::string together = shared_gpus(users);
    if (together.empty()) together = parts_of_one_gpu(users);
    return together.empty() ? "" : together + ", and NCCL wants a GPU for each rank";
}

std::string why_no_nccl(const std::vector<GpuUser>& users) {
    for (const GpuUser& user : users)
        if (!user.without_nccl.empty())
            return user.host + " has no NCCL to be used (" + user.without_nccl + ")";
    return "";
}

// Returns why gradients go through the host's memory; empty when they do not.
std::string why_staged(const std::vector<GpuUser>& users, GpuBackendChoice choice) {
    if (choice == GpuBackendChoice::staged) return "--gpu-backend staged asks for it";
    const std::string missing = why_no_nccl(users);
    if (choice == GpuBackendChoice::automatic) {
        const std::string refused = why_nccl_refuses(users);
        return refused.empty() ? missing : refused;
    }
    if (!missing.empty()) throw Error(ErrorKind::config, "--gpu-backend nccl: " + missing);
    return "";
}

}  // namespace

std::vector<GpuUser> gather_gpu_users(comm::Communicator& communicator, const GpuUser& own) {
    std::vector<std::byte> mine(user_bytes);
    std::byte* to = mine.data();
    for (const auto field : fields) {
        write(own.*field, to, field_bytes);
        to += field_bytes;
    }
    write(own.without_nccl, to, reason_bytes);
    std::vector<std::byte> all(user_bytes * static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(view_of(mine), view_of(all), "GPUs");
    communicator.finish();
    std::vector<GpuUser> users;
    for (std::size_t at = 0; at < all.size(); at += user_bytes)
        users.push_back(read_user(&all[at]));
    return users;
}

std::string shared_gpus(const std::vector<GpuUser>& users) {
    std::string text;
    for (const auto& [gpu, ranks] : grouped(users, &GpuUser::uuid))
        if (ranks.size() > 1)
            text +=
                (text.empty() ? "" : "; ") + names_of(ranks, gpu.first) + " share " + gpu.second;
    return text;
}

std::string parts_of_one_gpu(const std::vector<GpuUser>& users) {
    std::string text;
    for (const auto& [gpu, ranks] : grouped(users, &GpuUser::pci))
        if (distinct(users, ranks, &GpuUser::uuid) > 1)
            text += (text.empty() ? "" : "; ") + names_of(ranks, gpu.first) +
                    " have parts of GPU " + gpu.second;
    return text;
}

std::string unlike_gpus(const std::vector<GpuUser>& users) {
    std::vector<std::pair<std::string, Ranks>> models;
    for (std::size_t rank = 0; rank < users.size(); ++rank) {
        const auto found =
            std::ranges::find(models, users[rank].name, &std::pair<std::string, Ranks>::first);
        if (found == models.end())
            models.push_back({users[rank].name, {rank}});
        else
            found->second.push_back(rank);
    }
    if (models.size() < 2) return "";
    std::string text;
    for (const auto& [name, ranks] : models) {
        text += (text.empty() ? "" : ", ") + name + " (" +
                names_of({ranks.front()}, users[ranks.front()].host);
        if (ranks.size() > 1) text += " and " + std::to_string(ranks.size() - 1) + " more";
        text += ")";
    }
    return text;
}

// A control group numbers the visible GPUs from 0, so CUDA_VISIBLE_DEVICES has the same value on
// all ranks.
std::string hosts_with_hidden_gpus(const std::vector<GpuUser>& users) {
    std::string hosts;
    for (const auto& [host, ranks] : grouped(users, &GpuUser::chosen)) {
        if (host.second.empty() || distinct(users, ranks, &GpuUser::pci) < 2) continue;
        hosts += (hosts.empty() ? "" : ", ") + host.first;
    }
    return hosts;
}

GpuWorld judge_gpu_users(const std::vector<GpuUser>& users, SharedGpu shared,
                         GpuBackendChoice choice) {
    const std::string sharing = shared_gpus(users);
    if (shared == SharedGpu::refused && !sharing.empty())
        throw Error(ErrorKind::config,
                    sharing +
                        ": start one rank for each GPU (--gpus-per-node N under srun), or give "
                        "--allow-shared-gpu");
    GpuWorld world;
    if (users.size() < 2) return world;
    if (const std::string unlike = unlike_gpus(users); !unlike.empty())
        world.notes.push_back("the GPUs are not alike: " + unlike +
                              ": the slowest decides how long a step takes");
    if (const std::string why = why_staged(users, choice); !why.empty()) {
        world.backend = comm::GpuBackend::staged;
        world.notes.push_back("gradients go through the hosts' memory, which is slow: " + why);
    } else if (const std::string hosts = hosts_with_hidden_gpus(users); !hosts.empty()) {
        world.notes.push_back("the ranks on " + hosts +
                              " see one GPU each, and not each other's, so that NCCL copies "
                              "through the host or fails: ask Slurm for --gpus-per-node=N instead "
                              "of --gpus-per-task, or give --gpu-bind=none");
    }
    return world;
}

}  // namespace lockstep::launcher
