module example.org/tiers

go 1.22
