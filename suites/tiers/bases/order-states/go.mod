module example.org/order

go 1.22
