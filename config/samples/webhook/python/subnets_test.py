"""Tests of the webhook: python3 -m unittest discover -s config/samples/webhook/python -p '*_test.py'"""

import ipaddress
import unittest

import subnets


def request(network, *zones):
    return {
        "apiVersion": "hooks.orkestra.orkspace.io/v1", "kind": "HookRequest", "uid": "1", "phase": "Reconcile",
        "resource": {"metadata": {"name": "office"}, "spec": {"network": network, "zones": [{"name": n, "hosts": h} for n, h in zones]}},
    }


class Share(unittest.TestCase):
    def test_each_zone_gets_what_it_needs_and_no_two_overlap(self):
        zones = [{"name": str(n), "hosts": n} for n in (1, 2, 3, 6, 7, 14, 15, 30, 100, 200)]
        given = subnets.share("10.0.0.0/22", zones)
        for zone in zones:
            self.assertGreaterEqual(given[zone["name"]].num_addresses - 2, zone["hosts"])
            self.assertLess(given[zone["name"]].num_addresses, 2 * max(zone["hosts"] + 2, 4))
        all_of_them = list(given.values())
        for i, one in enumerate(all_of_them):
            self.assertTrue(one.subnet_of(ipaddress.ip_network("10.0.0.0/22")))
            self.assertFalse(any(one.overlaps(other) for other in all_of_them[i + 1:]))

    def test_the_order_of_the_zones_does_not_matter(self):
        zones = [{"name": "a", "hosts": 10}, {"name": "b", "hosts": 10}, {"name": "c", "hosts": 100}]
        self.assertEqual(subnets.share("10.0.0.0/24", zones), subnets.share("10.0.0.0/24", zones[::-1]))


class Answer(unittest.TestCase):
    def test_it_repeats_whom_it_is_for(self):
        out = subnets.answer(request("10.0.0.0/24", ("web", 10)))
        self.assertEqual((out["uid"], out["kind"]), ("1", "HookResponse"))
        self.assertEqual([c["id"] for c in out["children"]], ["plan", "web"])
        self.assertEqual(out["children"][0]["object"]["data"], {"web": "10.0.0.0/28"})
        self.assertEqual(out["status"], {"zones": 1, "free": 240})

    def test_a_zone_without_room_is_named(self):
        out = subnets.answer(request("10.0.0.0/28", ("web", 100), ("db", 2)))
        self.assertEqual(out["conditions"][0]["message"], "no room for web")
        self.assertEqual([c["id"] for c in out["children"]], ["plan", "db"])


if __name__ == "__main__":
    unittest.main()
