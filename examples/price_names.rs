//! temp
use agentlogs::prices::*;
use agentlogs::session::Tokens;
use agentlogs::time::Time;
use std::io::BufRead;
fn main() {
    let mode = std::env::args().nth(1).unwrap();
    let t = std::time::Instant::now();
    let c = Catalog::built_in();
    eprintln!("load {:?}", t.elapsed());
    if mode == "names" {
        for l in std::io::stdin().lock().lines() {
            let l = l.unwrap();
            let (p, m) = l.split_once('\t').unwrap();
            let p = (!p.is_empty()).then_some(p);
            match c.find(p, m) {
                Some(f) => println!("{l}\t{}/{}\t{}", f.entries[0].provider, f.entries[0].model, f.rules.iter().map(|r| r.to_string()).collect::<Vec<_>>().join("; ")),
                None => println!("{l}\tNONE\t"),
            }
        }
    } else {
        let rows: Vec<serde_json::Value> = serde_json::from_reader(std::io::stdin()).unwrap();
        let mut pricer = Pricer::new(c);
        let t = std::time::Instant::now();
        for r in &rows {
            let s = |k: &str| r[k].as_str();
            let n = |k: &str| r[k].as_i64();
            let req = Request { provider: s("provider"), model: s("model"), at: s("occurred_at").and_then(Time::parse),
                tokens: Tokens { input: n("input_tokens"), output: n("output_tokens"), cache_read: n("cache_read_tokens"), cache_write: n("cache_write_tokens"), cache_write_1h: n("cache_write_1h_tokens"), reasoning: None },
                web_searches: n("web_searches"), service_tier: s("service_tier"), speed: s("speed"), inference_geo: None, is_sum: s("grain") == Some("session") };
            match pricer.price(&req) {
                Ok(p) => println!("{}\t{:.6}\t{}\t{}", r, p.total(), p.terms.entry.model, p.terms.long_context.is_some()),
                Err(e) => println!("{}\tNONE\t{}\t", r, e.as_str()),
            }
        }
        eprintln!("{} rows {:?}", rows.len(), t.elapsed());
    }
}
