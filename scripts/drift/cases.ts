/** The result of one test case of a suite, as vitest reports it. */
export type CaseResult = { readonly name: string; readonly failure?: string }

export type CaseChange = {
  readonly kind: 'case-fails'
  readonly suite: Suite
  readonly name: string
  readonly failure: string
}

/** `contract`: the contract suite with the program. `recordings`: the tests of the adapter with its recordings. */
export type Suite = 'contract' | 'recordings' | 'recorder'

const maxFailureLines = 12

/** The cases in the JSON report of vitest. Throws if it is not such a report. */
export function casesIn(report: unknown): CaseResult[] {
  const { testResults } = report as VitestReport
  return testResults.flatMap(({ assertionResults, message = '', name }) => {
    // A file that cannot be loaded has no cases.
    if (assertionResults.length === 0) return [{ name, failure: shortened(message || 'it has no cases') }]
    return assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status, failureMessages = [] }) => ({
        name: fullName.trim(),
        ...(status === 'failed' && { failure: shortened(failureMessages[0] ?? '') }),
      }))
  })
}

type VitestReport = {
  readonly testResults: readonly {
    readonly name: string
    readonly message?: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

/** The first lines of a failure, without colours and without the stack. */
function shortened(failure: string): string {
  const lines = failure
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with the character ESC.
    .replaceAll(/\u001b\[[\d;]*m/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
  return lines.slice(0, maxFailureLines).join('\n')
}

/** The cases that fail with the new release, and not with the tested one. */
export function compareCases(
  suite: Suite,
  before: readonly CaseResult[],
  after: readonly CaseResult[],
): CaseChange[] {
  const failed = new Set(before.filter(({ failure }) => failure !== undefined).map(({ name }) => name))
  return after.flatMap(({ name, failure }) =>
    failure === undefined || failed.has(name) ? [] : [{ kind: 'case-fails', suite, name, failure } as const],
  )
}
