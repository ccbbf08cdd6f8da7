# R's side of docs/comparing_with_r.md, whose Python code writes survey.csv and people.csv:
#     R --no-save --quiet < comparing_with_r.R > comparing_with_r.txt
options(width = 80)
suppressPackageStartupMessages({library(survey); library(sampling)})
survey <- read.csv("survey.csv")
people <- read.csv("people.csv")

# The design
design <- svydesign(ids = ~interviewer, strata = ~urban, weights = ~weight, data = survey)
svymean(~doctor_visits, design)
confint(svymean(~doctor_visits, design), df = degf(design))
svyciprop(~ill, design, method = "logit")
svyby(~doctor_visits, ~smoker, design, svymean)
svyratio(~doctor_visits, ~household_size, design)
svyquantile(~income, design, 0.5)

# Finite population
survey$interviewers <- ifelse(survey$urban == 1, 200, 60)
limited <- svydesign(ids = ~interviewer, strata = ~urban, weights = ~weight,
                     fpc = ~interviewers, data = survey)
svymean(~doctor_visits, limited)

# Regression
coef(summary(svyglm(ill ~ age + smoker, design, family = quasibinomial)))[, 1:2]
exact <- glm.control(epsilon = 1e-15, maxit = 100)
SE(svyglm(ill ~ age + smoker, design, family = quasibinomial, control = exact))

# Raking
survey$bracket <- cut(survey$age, c(0, 39, 59, Inf), labels = c("18-39", "40-59", "60+"))
plain <- svydesign(ids = ~1, weights = ~1, data = survey)
ages <- data.frame(bracket = c("18-39", "40-59", "60+"), Freq = c(3500, 3600, 2900))
smokers <- data.frame(smoker = c(0, 1), Freq = c(7600, 2400))
raked <- rake(plain, list(~bracket, ~smoker), list(ages, smokers),
              control = list(epsilon = 1e-10, maxit = 100))
svymean(~ill, raked)
range(weights(raked)) / mean(weights(raked))
svymean(~ill, postStratify(plain, ~bracket, ages))

# Calibration
rows <- cbind(1, survey$age, survey$smoker)
totals <- c(2000, sum(people$age), sum(people$smoker))
g <- calib(rows, rep(5, 400), totals, method = "raking")
weighted.mean(survey$ill, g)
sum(g)^2 / sum(g^2)
met <- calibrate(svydesign(ids = ~1, weights = ~1, data = survey), ~age + smoker,
                 c(`(Intercept)` = 2000, age = sum(people$age), smoker = sum(people$smoker)),
                 calfun = "raking")
svymean(~ill, met)

# Odds
both <- rbind(cbind(people, here = 1), cbind(survey[names(people)], here = 0))
odds <- exp(predict(glm(here ~ ., binomial, both), survey))
svymean(~ill, svydesign(ids = ~1, weights = ~odds, data = survey))
sum(odds)^2 / sum(odds^2)

# Schools
data(api)
schools <- svydesign(id = ~1, strata = ~stype, weights = ~pw, data = apistrat, fpc = ~fpc)
svymean(~api00, schools)
svytotal(~enroll, schools)
districts <- svydesign(id = ~dnum, weights = ~pw, data = apiclus1, fpc = ~fpc)
svymean(~api00, districts)

# The numbers above with all digits
say <- function(name, x) {
  cat(sprintf("%s %.10g %.10g\n", name, as.numeric(coef(x)), as.numeric(SE(x))), sep = "")
}
say("visits", svymean(~doctor_visits, design))
say("ill", svymean(~ill, design))
say("smoker", svyby(~doctor_visits, ~smoker, design, svymean))
say("ratio", svyratio(~doctor_visits, ~household_size, design))
say("limited", svymean(~doctor_visits, limited))
say("slopes", svyglm(ill ~ age + smoker, design, family = quasibinomial, control = exact))
say("raked", svymean(~ill, raked))
say("post", svymean(~ill, postStratify(plain, ~bracket, ages)))
say("met", svymean(~ill, met))
say("odds", svymean(~ill, svydesign(ids = ~1, weights = ~odds, data = survey)))
R.version.string
packageVersion("survey")
packageVersion("sampling")
