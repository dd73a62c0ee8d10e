"""The facts about stores as metrics: read by Prometheus's own parser for Python, and compared with the facts."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from support.command_line import run
from support.golden import Golden
from support.stores import files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.facts import LagOfGroups, Pending, Tally
from native_reader.testing.records import Message, pack_properties
from rmqstore.report.metrics import METRICS, OTHERS, PREFIX, metrics_text

NOW = "2027-01-15 08:00:00Z"
DOCS = Path(__file__).parents[2] / "docs" / "monitoring.md"
DASHBOARD = Path(__file__).parents[2] / "examples" / "prometheus" / "dashboard.json"
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]


def samples_of(text: str) -> Samples:
    """By name: the values by the labels other than that of the broker."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            assert sample.timestamp is None
            labels = tuple((name, value) for name, value in sample.labels.items() if name != "broker")
            series = found.setdefault(sample.name.removeprefix(PREFIX), {})
            assert labels not in series
            series[labels] = sample.value
    return found


def labeled(row: dict[str, object], *keys: str) -> tuple[tuple[str, str], ...]:
    return tuple((key, "" if row[key] is None else str(row[key])) for key in keys)


def test_the_metrics_are_the_facts_of_a_brokers_store(own_store: Callable[[str], Golden]) -> None:
    facts = nr.open(own_store("5.5.0-kinds").root).report(now=NOW, verify=True)
    found = samples_of(metrics_text({"b": facts}))
    assert found["read_timestamp_seconds"] == {(): 1_800_000_000}
    assert sum(found["topic_messages"].values()) == facts.log.messages
    assert sum(found["disk_bytes"].values()) == facts.usage.total
    assert found["last_message_timestamp_seconds"] == {(): pytest.approx((facts.log.last or 0) / 1e6)}
    assert found["damaged_bytes"] == {(): facts.damaged_bytes}
    assert isinstance(facts.lag, LagOfGroups)
    lag = {labeled(row, "group", "topic"): row for row in facts.lag.groups.top(1000).rows}
    assert found["group_lag_messages"] == {labels: row["lag"] for labels, row in lag.items()}
    oldest = {labels: pytest.approx(row["oldest"] / 1e6) for labels, row in lag.items() if isinstance(row["oldest"], int)}
    assert found.get("group_oldest_unread_timestamp_seconds", {}) == oldest
    assert isinstance(facts.dead, Tally)
    assert found["dead_messages"] == {(("group", "CG_fails"), ("origin_topic", "Fails")): 2}
    assert isinstance(facts.pending, Pending)
    assert sum(found["delayed_messages"].values()) == facts.pending.delayed.totals()["messages"]
    assert {dict(labels)["part"]: value for labels, value in found["readable"].items()} == dict.fromkeys(
        ("lag", "dead", "pending", "findings"), 1
    )
    assert found.keys() <= METRICS.keys()


def test_hostile_names_are_labels() -> None:
    """Names are untrusted: none can end its label, begin a line, or be another name."""
    names = ['a"} 1\nrmqstore_segments 9', "back\\slash", "carriage\rreturn", "tab\t{}", "主题🚀", "\\n"]
    messages = [Message(topic="%DLQ%g", properties=pack_properties({"RETRY_TOPIC": name})) for name in names]
    facts = _facts(messages)
    found = samples_of(metrics_text({'broker"\n': facts}))
    assert {dict(labels)["origin_topic"] for labels in found["dead_messages"]} == set(names)
    assert found["segments"] == {(): len(facts.segments)}


def test_the_smallest_of_too_many_groups_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rmqstore.report.metrics.MOST_SERIES", 3)
    found = samples_of(metrics_text({"b": _facts([Message(topic=f"T{each}") for each in range(10)])}))
    assert len(found["topic_messages"]) == 4
    assert found["topic_messages"][("topic", OTHERS), ("kind", OTHERS)] == 7


def test_a_part_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    files = files_of(log_of(map(message, range(9)))) | {"store/config/consumerOffset.json": b"{"}
    facts = nr.open(on_disk(tmp_path, files) / "store").report(now=NOW)
    found = samples_of(metrics_text({"b": facts}))
    assert found["readable"][(("part", "lag"),)] == 0
    assert found["readable"][(("part", "dead"),)] == 1
    assert "group_lag_messages" not in found


def _facts(messages: list[Message]) -> nr.Facts:
    memory = in_memory(files_of(log_of(messages)))
    return nr.open(f"{memory.url}/store").report(now=NOW)


def test_the_file_of_several_brokers_is_replaced_at_once(tmp_path: Path, own_store: Callable[[str], Golden]) -> None:
    stores = [own_store(name).root for name in ("5.5.0-kinds", "4.9.7-kinds")]
    output = tmp_path / "rmqstore.prom"
    output.write_text("old")
    ended = run(
        "report", *stores, "--to", "prometheus", "-o", output, "--name", f"{stores[0]}=east", "--name", f"{stores[1]}=west", "--now", NOW
    )
    assert (ended.code, ended.out) == (0, "")
    segments = {sample.labels["broker"] for family in text_string_to_metric_families(output.read_text()) for sample in family.samples}
    assert segments == {"east", "west"}
    assert [path.name for path in tmp_path.iterdir()] == ["rmqstore.prom"]
    assert stat.S_IMODE(output.stat().st_mode) & 0o444 == 0o444


def test_a_broker_has_the_name_that_its_store_knows(tmp_path: Path, own_store: Callable[[str], Golden]) -> None:
    store, output = own_store("5.5.0-kinds").root, tmp_path / "metrics.prom"
    assert run("report", store, "--to", "prometheus", "-o", output).code == 0
    assert 'rmqstore_segments{broker="broker-a"} ' in output.read_text()


def test_two_stores_of_one_broker_need_names(tmp_path: Path, own_store: Callable[[str], Golden]) -> None:
    stores = [own_store(name).root for name in ("5.5.0-kinds", "4.9.7-kinds")]
    output = tmp_path / "metrics.prom"
    ended = run("report", *stores, "--to", "prometheus", "-o", output)
    assert ended.code == 2
    assert f"are both of broker 'broker-a'. Give at least one of them another name with --name: {stores[1]}=NAME" in ended.err
    ended = run("report", *stores, "--to", "prometheus", "-o", output, "--name", "east")
    assert ended.code == 2
    assert f"--name east does not name a store. Write --name {stores[0]}=east" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_options_of_the_other_format_are_refused(tmp_path: Path) -> None:
    store = on_disk(tmp_path, files_of(log_of(3))) / "store"
    assert "error: Metrics have no --title. Use --name" in run("report", store, "--to", "prometheus", "--title", "x").err


def test_every_query_of_the_dashboard_names_metrics_and_labels_that_exist(own_store: Callable[[str], Golden]) -> None:
    facts = nr.open(own_store("5.5.0-kinds").root).report(now=NOW)
    labels = {
        name: {key for series in found for key, _ in series} | {"broker"} for name, found in samples_of(metrics_text({"b": facts})).items()
    }
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for query, legend in [(target["expr"], target["legendFormat"]) for target in targets]:
        named = re.findall(rf"\b{PREFIX}(\w+)", query)
        assert named
        assert set(named) <= METRICS.keys(), query
        assert query.count("(") == query.count(")")
        used = set(re.findall(r"{{(\w+)}}", legend)) | {each for by in re.findall(r"by \(([\w, ]+)\)", query) for each in by.split(", ")}
        assert used <= set().union(*(labels.get(name, used) for name in named)), query
    (broker,) = (each for each in dashboard["templating"]["list"] if each["name"] == "broker")
    assert broker["query"]["query"] == f"label_values({PREFIX}read_timestamp_seconds, broker)"


def test_a_number_of_the_dashboard_is_not_red_from_80_as_grafana_does_without_thresholds() -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    found = {panel["title"]: panel["fieldConfig"]["defaults"] for panel in panels if panel["type"] == "stat"}
    red_from = {
        title: [(step["color"], step["value"]) for step in each["thresholds"]["steps"]]
        for title, each in found.items()
        if "thresholds" in each
    }
    assert red_from.pop("Age of these numbers") == [("green", None), ("red", 3 * 3600)]
    assert set(red_from) == {"Damaged or missing", "Messages lost for a group", "Parts that could not be read"}
    assert all(steps == [("green", None), ("red", 1)] for steps in red_from.values())
    assert {found[title]["color"]["mode"] for title in found.keys() - red_from.keys() - {"Age of these numbers"}} == {"fixed"}


def test_ages_of_messages_do_not_grow_between_two_readings() -> None:
    queries = [target["expr"] for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"] for target in panel["targets"]]
    queries += re.findall(r"expr: (.+)", DOCS.read_text(encoding="utf-8"))
    ages = [query for query in queries if "oldest_unread" in query or "dead_first" in query]
    assert len(ages) == 3
    assert all("rmqstore_read_timestamp_seconds" in query and "time()" not in query for query in ages)


def test_the_document_lists_every_metric_with_its_labels(own_store: Callable[[str], Golden]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    listed = re.findall(rf"^\| `{PREFIX}(\w+)` \| (.*?) ?\| (.+) \|$", text, re.MULTILINE)
    assert [(name, meaning) for name, _, meaning in listed] == list(METRICS.items())
    facts = nr.open(own_store("5.5.0-kinds").root).report(now=NOW, verify=True)
    labels = {name: tuple(key for key, _ in next(iter(found))) for name, found in samples_of(metrics_text({"b": facts})).items()}
    assert {name: tuple(re.findall(r"`(\w+)`", of)) for name, of, _ in listed if name in labels} == labels
    rules = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0])
    queries = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    assert {name for query in queries for name in re.findall(rf"\b{PREFIX}(\w+)", query)} <= METRICS.keys()
