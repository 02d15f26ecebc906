module judge

go 1.26.0

require github.com/kedacore/keda/v2 v2.21.0

// Fetched beside this file, without the scalers of other services.
replace github.com/kedacore/keda/v2 => ./keda
