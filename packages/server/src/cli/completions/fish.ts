import type { CompletedCommand, ValueKind } from './command-tree.ts'

/** The script for fish. fish recognises options by itself, and shows the descriptions. */
export function fishScript(all: readonly CompletedCommand[]): string {
  const steps = all
    .filter(({ path }) => path !== '')
    .map(({ path }) => {
      const words = path.split(' ')
      return `      case '${words.slice(0, -1).join(' ')} ${words.at(-1)}'\n        set at '${path}'; set count 0; continue`
    })
  const withValue = all.flatMap(({ path, options }) =>
    options.filter(({ value }) => value).map(({ name }) => `'${path} ${name}'`),
  )
  return `# parley completions fish > ~/.config/fish/completions/parley.fish
function __parley_at
  set -l at ''
  set -l count 0
  set -l skip 0
  for word in (commandline -opc)[2..]
    if test $skip = 1
      set skip 0
      continue
    end
    switch "$at $word"
${steps.join('\n')}
      case ${withValue.join(' ')}
        set skip 1; continue
      case '* -*'
        continue
    end
    set count (math $count + 1)
  end
  test "$at" = "$argv[1]"; or return 1
  test (count $argv) = 1; or test $count = "$argv[2]"; or begin; test "$argv[2]" = more; and test $count -ge "$argv[3]"; end
end
function __parley_values
  set -l words (commandline -opc)
  set -l folder
  for index in (seq (count $words))
    test "$words[$index]" = --data-dir; and set folder --data-dir $words[(math $index + 1)]
  end
  $words[1] completions --values $argv[1] $folder 2>/dev/null
end
complete -c parley -f
${all.flatMap(linesOf).join('\n')}
`
}

function linesOf(command: CompletedCommand): string[] {
  const { path, subcommands, options, positions, isVariadic } = command
  const start = (...more: (string | number)[]) =>
    `complete -c parley -n "${['__parley_at', `'${path}'`, ...more].join(' ')}"`
  return [
    ...subcommands.map((name) => `${start(0)} -a ${name}`),
    ...positions.flatMap((kind, index) => {
      const isLast = isVariadic && index === positions.length - 1
      const values = valuesOf(kind)
      return values === undefined ? [] : [`${isLast ? start('more', index) : start(index)} ${values}`]
    }),
    ...options.map(({ name, about, value }) => {
      // fish refuses -F together with -x, which is -r and -f.
      const values = value === undefined ? '' : ` ${value === 'file' ? '-r' : '-x'} ${valuesOf(value) ?? ''}`
      return `${start()} -l ${name.slice(2)}${values.trimEnd()} -d '${quoted(about)}'`
    }),
  ]
}

function valuesOf(kind: ValueKind): string | undefined {
  if (typeof kind === 'object') return `-a '${kind.words.join(' ')}'`
  if (kind === 'none') return undefined
  if (kind === 'file') return '-F'
  return kind === 'folder' ? "-a '(__fish_complete_directories)'" : `-k -a '(__parley_values ${kind})'`
}

function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
}
