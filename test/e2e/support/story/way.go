package story

// way is what a tenant's claim says from its creation to its end.
var way = []station{}
