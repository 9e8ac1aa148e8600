//! Times as the wire writes them: RFC 3339 in UTC, from and to milliseconds since 1970.

/// Writes a time, such as `2026-08-07T18:02:11.412Z`.
pub fn rfc3339(ms: i64) -> String {
    let (days, of_day) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The day of a time as folders name it: year, month, day.
pub fn day(ms: i64) -> (String, String, String) {
    let (year, month, day) = civil(ms.div_euclid(86_400_000));
    (format!("{year:04}"), format!("{month:02}"), format!("{day:02}"))
}

/// Reads a time with any number of fraction digits and any offset; `None` for anything else.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    let mut clock = clock.splitn(3, ':');
    let (hour, minute) = (clock.next()?.parse::<i64>().ok()?, clock.next()?.parse::<i64>().ok()?);
    let (second, fraction) = clock.next().map(|second| second.split_once('.').unwrap_or((second, "0")))?;
    let second = second.parse::<i64>().ok()?;
    let milli = format!("{fraction:0<3}").get(..3)?.parse::<i64>().ok()?;
    let offset = match zone {
        "Z" | "z" => 0,
        zone => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if zone.starts_with('-') { -minutes } else { minutes }
        }
    };
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    valid.then(|| (((days(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + milli)
}

/// Year, month and day of a number of days since 1970, in the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468; // from 0000-03-01, so that a leap day ends its year
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970 of a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_there_and_back() {
        for ms in [0, 1, 951_782_400_000, 1_754_590_931_412, 4_102_444_799_999] {
            assert_eq!(parse_rfc3339(&rfc3339(ms)), Some(ms));
        }
        assert_eq!(rfc3339(1_754_590_931_412), "2025-08-07T18:22:11.412Z");
        assert_eq!(parse_rfc3339("2025-08-07T20:22:11+02:00"), Some(1_754_590_931_000));
        for bad in ["", "2025-08-07", "2025-13-07T00:00:00Z", "2025-08-07T00:00:00", "x-y-zT1:2:3Z"] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }
}
