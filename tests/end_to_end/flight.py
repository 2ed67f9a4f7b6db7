"""Goal: rows that Arrow Flight servers send train like those of a file, though
one server fails, one is slow and one dies; and what cannot be read is said in
one line that names the place and no secret. Method: the real program, servers
of pyarrow on ports of this machine, and the checksums of both prepared sets.
"""
import shutil
import subprocess
import unittest

from harness.flight import Flight

from table_test import TableTest

ROWS = 600
SECRET = "open-sesame-42"
COLUMNS = {"age": [20 + i % 60 for i in range(ROWS)],
           "score": [i / 8 for i in range(ROWS)],
           "city": [("berlin", "rome", "oslo")[i % 3] for i in range(ROWS)],
           "kind": [("pear", "apple", "fig")[i // 3 % 3] for i in range(ROWS)]}
ALL = [{"ticket": f"0-{ROWS}"}]


class FlightSources(TableTest):
    def server(self, **how):
        one = Flight(COLUMNS, **how)
        self.addCleanup(one.end)
        if one.missing:
            self.skipTest(one.missing)
        return one

    def job(self, name, uri, **train):
        return self.table_job({"format": name, "uri": str(uri), **train})

    def checksums_of(self, job):
        """And the manifest; the secret is nowhere in the run."""
        out = self.checksums(job, ROWS)
        for path in self.last_run.rglob("*"):
            if path.is_file():
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)
        return out

    def of_a_file(self):
        lines = [",".join(COLUMNS)]
        lines += [",".join(map(str, row)) for row in zip(*COLUMNS.values())]
        return self.checksums_of(self.job(
            "csv", self.write("people.csv", "\n".join(lines) + "\n")))[0]

    def told(self, job, code, *parts):
        self.assertNotIn(SECRET, super().told(job, code, *parts).err)

    def test_three_servers_with_faults_train_like_a_file(self):
        here = self.of_a_file()
        for connections in (1, 3):
            with self.subTest(connections=connections):
                # Prepared anew, not found.
                self.environment["BALLAST_CACHE"] = str(
                    self.folder / f"cache-{connections}")
                sound = self.server(fail_first=1)
                slow = self.server(slow=0.02, break_after=3)
                dies = self.server(die_after=2)
                asked = self.server(names=["shop/people"], endpoints=[
                    {"ticket": "0-200", "locations": [slow.uri()]},
                    {"ticket": "200-450",
                     "locations": [dies.uri(), sound.uri()]},
                    {"ticket": f"450-{ROWS}", "locations": [sound.uri()]}])
                there, manifest = self.checksums_of(self.job(
                    "flight", asked.uri("/shop/people"),
                    connections=connections))
                self.assertEqual(there, here)
                self.assertEqual(manifest["left_out"], ["city"])
                self.assertEqual(manifest["sources"],
                                 [f"127.0.0.1:{asked.port}/shop/people"])

    def test_a_command_and_a_query_train_like_a_file(self):
        here = self.of_a_file()
        one = self.server(endpoints=ALL, names=["people of 2026"], queries=[
            "select * from people", 'select * from "shop"."people"'])
        for name, more in (("flight", {"query": "people of 2026"}),
                           ("sql", {"query": "select * from people"}),
                           ("sql", {"table": "shop.people"})):
            with self.subTest(more=more):
                self.environment["BALLAST_CACHE"] = str(
                    self.folder / f"cache-{next(self.folders)}")
                self.assertEqual(
                    self.checksums_of(self.job(name, one.uri(), **more))[0], here)
        self.told(self.job("sql", one.uri(), query="select * from nobody"), 2,
                  f"query on 127.0.0.1:{one.port}", "select * from nobody",
                  "there is no table in")

    def test_a_set_is_found_again_by_its_rows(self):
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        one = self.server(endpoints=ALL, names=["people"])
        other = self.server(endpoints=[{"ticket": "0-11"},
                                       {"ticket": f"11-{ROWS}"}],
                            names=["people"])
        folders = []
        for server in (one, other):
            self.checksums_of(self.job("flight", server.uri("/people")))
            folders.append(sorted(
                path.name for path in (self.folder / "cache").iterdir()))
        self.assertEqual(folders[0], folders[1])

    def test_rows_that_change_meanwhile_are_not_trained_on(self):
        self.environment["BALLAST_CACHE"] = str(self.folder / "cache")
        # Asked for its hash, for the rows, and for the hash once more.
        one = self.server(endpoints=ALL, names=["people"], changes_after=2)
        self.told(self.job("flight", one.uri("/people")), 2,
                  f"127.0.0.1:{one.port}/people", "changed while the data were")

    def test_it_is_a_source_of_a_graph_and_of_commands(self):
        one = self.server(endpoints=ALL, names=["people"])
        shown = self.write("out.csv", "")
        shown.unlink()
        job = self.write("job.json", {
            "data": {"sources": {"people": {"format": "flight",
                                            "uri": one.uri("/people")}},
                     "graph": [{"op": "filter", "from": "people",
                                "where": "city = 'oslo'", "as": "some"}],
                     "train": {"from": "some", "label": "kind"}},
            "model": {"kind": "logistic"}, "train": {"epochs": 1},
            "elastic": {"workers": 2}})
        self.ballast("data", "write", job, "some", shown)
        self.assertEqual(len(shown.read_text().splitlines()), 1 + ROWS // 3)
        self.assertIn(str(ROWS), self.ballast(
            "data", "profile", one.uri("/people")).out)
        self.ballast("validate", "--data", self.job(
            "flight", one.uri("/people")))

    def test_only_who_has_the_secret_gets_in(self):
        login = f"me:{SECRET}"
        one = self.server(endpoints=ALL, names=["people"], token=SECRET,
                          login=login)
        self.environment["TOKEN"] = SECRET
        token = {"password_env": "TOKEN"}
        here = self.of_a_file()
        for uri in (one.uri("/people"), one.uri("/people", user="me")):
            with self.subTest(uri=uri):
                self.environment["BALLAST_CACHE"] = str(
                    self.folder / f"cache-{next(self.folders)}")
                self.assertEqual(
                    self.checksums_of(self.job("flight", uri, **token))[0], here)
        place = f"127.0.0.1:{one.port}"
        self.told(self.job("flight", one.uri("/people")), 2, place,
                  "access", "denied", "password_env")
        self.environment["TOKEN"] = "wrong"
        for uri in (one.uri("/people"), one.uri("/people", user="me")):
            self.told(self.job("flight", uri, **token), 2, place, "denied",
                      "password_env")
        del self.environment["TOKEN"]
        self.told(self.job("flight", one.uri("/people"), **token), 2,
                  "TOKEN is not set")
        self.told(self.job("flight", f"grpc://me:{SECRET}@h:1/people"), 2,
                  "holds a password", "password_env")

    def test_what_is_wrong_is_said_in_one_line(self):
        one = self.server(endpoints=ALL, names=["people"])
        gone = self.server(endpoints=ALL, names=["people"])
        gone.process.kill()
        gone.process.wait()
        self.told(self.job("flight", gone.uri("/people")), 1,
                  f"the Flight server 127.0.0.1:{gone.port} cannot be reached",
                  "check host and port")
        self.told(self.job("flight", "grpc://nobody.invalid:1/people"), 1,
                  "nobody.invalid:1 cannot be reached")
        self.told(self.job("flight", one.uri("/nobody")), 2,
                  f"127.0.0.1:{one.port}/nobody", "there is no flight")
        wrong = self.server(endpoints=[{"ticket": "0-300"}, {"ticket": "x"}],
                            names=["people"])
        self.told(self.job("flight", wrong.uri("/people")), 2,
                  "endpoint 2 of 2", f"127.0.0.1:{wrong.port}", "ticket")
        away = self.server(endpoints=[
            {"ticket": "0-300"},
            {"ticket": f"300-{ROWS}", "locations": [gone.uri()]}],
            names=["people"])
        self.told(self.job("flight", away.uri("/people")), 1,
                  "endpoint 2 of 2", f"127.0.0.1:{gone.port}",
                  "in 4 attempts")

    def test_tls_is_checked_against_the_certificates_of_the_job(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        key, own, other = (self.folder / name
                           for name in ("key.pem", "own.pem", "other.pem"))
        for path in (other, own):
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                 "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                 "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", path],
                check=True, capture_output=True)
        one = self.server(endpoints=ALL, names=["people"],
                          certificate=str(own), key=str(key))
        self.assertEqual(self.checksums_of(self.job(
            "flight", one.uri(f"/people?tls_ca_file_path={own}")))[0],
            self.of_a_file())
        self.told(self.job(
            "flight", one.uri(f"/people?tls_ca_file_path={other}")), 1,
            f"127.0.0.1:{one.port} cannot be reached")
        # What opens it does not travel where everybody can read it.
        plain = self.server()
        strict = self.server(
            endpoints=[{**ALL[0], "locations": [plain.uri()]}],
            names=["people"], token=SECRET, certificate=str(own), key=str(key))
        self.environment["TOKEN"] = SECRET
        self.told(self.job(
            "flight", strict.uri(f"/people?tls_ca_file_path={own}"),
            password_env="TOKEN"), 2, "endpoint 1 of 1",
            f"only at {plain.uri()}", "grpc+tls://")


if __name__ == "__main__":
    unittest.main()
