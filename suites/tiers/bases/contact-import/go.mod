module example.org/contacts

go 1.22
