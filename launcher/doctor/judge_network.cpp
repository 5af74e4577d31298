// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/doctor/findings.hpp"
#include "launcher/doctor/probes/probe_schedule.hpp"
#include "launcher/text/units.hpp"

namespace lockstep::launcher::doctor {

namespace {

constexpr double largest_skew_s = 1;

bool contains(const std::vector<std::string>& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
}

const RankFacts* speaker(const Facts& facts, const std::string& host) {
    const auto found = std::find_if(facts.ranks.begin(), facts.ranks.end(),
                                    [&](const RankFacts& one) { return one.host == host; });
    return found == facts.ranks.end() ? nullptr : &*found;
}

bool loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

bool has_address(const RankFacts& host, const std::string& address) {
    return std::any_of(host.interfaces.begin(), host.interfaces.end(),
                       [&](const Interface& one) { return contains(one.addresses, address); });
}

// A host's own name may lead to its loopback address on the host itself (as in Debian), but not on
// another host.
bool leads_to(const RankFacts& host, const std::string& from, const std::string& address) {
    return loopback(address) ? from == host.host : has_address(host, address);
}

// Joins the same text from several hosts into one finding.
class OnHosts {
public:
    OnHosts(const Facts& facts, std::string check, std::string advice)
        : hosts_(hosts_of(stands_of(facts.ranks)).size()),
          check_(std::move(check)),
          advice_(std::move(advice)) {}

    void add(const std::string& host, const std::string& what) { hosts_by_[what].push_back(host); }
    std::vector<Finding> findings() const {
        std::vector<Finding> found;
        for (const auto& [what, hosts] : hosts_by_) {
            const bool every = hosts.size() == hosts_ && hosts_ > 1;
            found.push_back({Severity::warns, check_,
                             every ? "on every host" : "on " + joined(hosts), what, advice_});
        }
        return found;
    }

private:
    std::size_t hosts_;
    std::string check_, advice_;
    std::map<std::string, std::vector<std::string>> hosts_by_;
};

void judge_unknown(const std::string& from, const RankObservations& sight, OnHosts& found) {
    std::map<std::string, std::vector<std::string>> names;  // the key is the problem
    for (const Lookup& lookup : sight.lookups) {
        if (!lookup.problem.empty()) names[lookup.problem].push_back(lookup.host);
    }
    for (const auto& [problem, hosts] : names) {
        found.add(from, (hosts.size() == 1 ? "the name " + hosts.front() + " does not resolve: "
                                           : "the names " + joined(hosts) + " do not resolve: ") +
                            problem);
    }
}

void judge_name(const Facts& facts, const std::string& from, const Lookup& lookup, OnHosts& found) {
    const RankFacts* host = speaker(facts, lookup.host);
    if (!lookup.problem.empty() || host == nullptr || host->interfaces.empty()) return;
    const bool right =
        std::any_of(lookup.addresses.begin(), lookup.addresses.end(),
                    [&](const std::string& address) { return leads_to(*host, from, address); });
    if (right) return;
    std::vector<std::string> own;
    for (const Interface& one : host->interfaces) {
        for (const auto& address : one.addresses) {
            if (!loopback(address)) own.push_back(address);
        }
    }
    found.add(from, "the name " + lookup.host + " means " + joined(lookup.addresses) +
                        ", which is not that host's (it has " + joined(own) + ")");
}

std::string short_name(const std::string& name) { return name.substr(0, name.find('.')); }

// An address without a name is common and harmless, but the name of another host is a problem.
void judge_address(const Facts& facts, const std::string& from, const Lookup& lookup,
                   OnHosts& found) {
    const RankFacts* host = speaker(facts, lookup.host);
    if (host == nullptr || lookup.name.empty() || loopback(host->address)) return;
    if (short_name(lookup.name) == short_name(lookup.host)) return;
    const bool of_other =
        std::any_of(facts.ranks.begin(), facts.ranks.end(), [&](const RankFacts& one) {
            return one.host != host->host && short_name(one.host) == short_name(lookup.name);
        });
    if (!of_other && contains(lookup.name_addresses, host->address)) return;  // an alias
    found.add(from,
              "the address " + host->address + " of " + lookup.host + " has the name " +
                  lookup.name +
                  (of_other ? ", which is another host's" : ", which does not lead back to it"));
}

void judge_probe(const std::string& from, const Probe& probe, std::vector<Finding>& found) {
    if (probe.problem.empty()) return;
    found.push_back({Severity::breaks, "ports", "from " + from,
                     probe.host + " cannot be reached: " + probe.problem,
                     "let these hosts talk on all ports above 1023 (firewall, routes), or give "
                     "another network by --interface"});
}

// Judges only the clock of rank 0's host, with which all other clocks are compared.
void judge_clock(const Facts& facts, const std::string& from, const Probe& probe,
                 std::vector<Finding>& found) {
    if (!probe.problem.empty() || probe.host != host_of(facts, 0)) return;
    if (std::abs(probe.clock_ahead_s) <= largest_skew_s) return;
    found.push_back({Severity::warns, "clock", "on " + from,
                     "the clock is " + seconds_text(std::abs(probe.clock_ahead_s)) +
                         (probe.clock_ahead_s > 0 ? " behind " : " ahead of ") + probe.host + "'s",
                     "run chrony or ntpd there: Munge refuses 5 minutes, and logs of the hosts "
                     "cannot be compared"});
}

}  // namespace

std::vector<Finding> judge_network(const Facts& facts) {
    std::vector<Finding> found;
    OnHosts names(facts, "names",
                  "correct DNS, or /etc/hosts there: mpirun, ssh and --master-addr go by names");
    for (const RankObservations& sight : facts.sights) {
        const std::string from = host_of(facts, sight.rank);
        judge_unknown(from, sight, names);
        for (const Lookup& lookup : sight.lookups) {
            judge_name(facts, from, lookup, names);
            judge_address(facts, from, lookup, names);
        }
        for (const Probe& probe : sight.probes) {
            judge_probe(from, probe, found);
            judge_clock(facts, from, probe, found);
        }
    }
    append(found, names.findings());
    return found;
}

}  // namespace lockstep::launcher::doctor
