import { ParleyError } from '@parley/protocol'
import type { Command } from 'commander'
import type { Context } from '../context.ts'

const shells = ['bash', 'zsh', 'fish'] as const

type Completions = { readonly path: string; readonly words: readonly string[]; readonly about: string }

/**
 * Prints a script that completes commands and options. The script contains all of them, so that completing starts no
 * program.
 */
export function completion(shell: string, program: Command, context: Context): number {
  const known = shells.find((name) => name === shell)
  if (!known) {
    throw new ParleyError('validation_error', `completion takes one of ${shells.join(', ')}, not "${shell}".`)
  }
  const all = completionsOf(program, '')
  context.output.out({ bash: bashScript, zsh: zshScript, fish: fishScript }[known](all))
  return 0
}

/** The completions of each command: its subcommands and its options. */
function completionsOf(command: Command, path: string): Completions[] {
  const commands = command.commands.filter((one) => one.name() !== 'help')
  const options = command.options.flatMap(({ long }) => (long ? [long] : []))
  const own = {
    path,
    words: [...commands.map((one) => one.name()), ...options, '--help'],
    about: command.description(),
  }
  return [own, ...commands.flatMap((one) => completionsOf(one, `${path} ${one.name()}`.trim()))]
}

function cases(all: readonly Completions[]): string {
  return all.map(({ path, words }) => `    '${path}') candidates='${words.join(' ')}' ;;`).join('\n')
}

/**
 * The part of the script that both shells share. `at` collects the words before the cursor that are commands; the
 * rest are arguments and options. It is not named `path`, because zsh ties that name to PATH.
 */
const body = (all: readonly Completions[]) => `  local at='' word candidates=''
  for word in "\${before[@]}"; do
    case "$at $word" in
${all
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      '${parentOf(path)} ${nameOf(path)}') at='${path}' ;;`)
  .join('\n')}
    esac
  done
  case "$at" in
${cases(all)}
  esac`

const parentOf = (path: string) => path.split(' ').slice(0, -1).join(' ')
const nameOf = (path: string) => path.split(' ').at(-1) ?? ''

function bashScript(all: readonly Completions[]): string {
  return `# parley completion bash >> ~/.bashrc
_parley() {
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${body(all)}
  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _parley parley
`
}

function zshScript(all: readonly Completions[]): string {
  return `#compdef parley
# parley completion zsh > "\${fpath[1]}/_parley", or: source <(parley completion zsh)
_parley() {
  local -a before=("\${(@)words[2,CURRENT-1]}")
  _parley_words
}
_parley_words() {
${body(all)}
  compadd -- \${=candidates}
  [[ "$PREFIX" == -* ]] || _files
}
if [[ "\${funcstack[1]}" == _parley ]]; then _parley "$@"; else compdef _parley parley; fi
`
}

function fishScript(all: readonly Completions[]): string {
  const steps = all
    .filter(({ path }) => path !== '')
    .map(({ path }) => `      case '${parentOf(path)} ${nameOf(path)}'\n        set at '${path}'`)
  const lines = all.flatMap(({ path, words }) => {
    const start = `complete -c parley -n "__parley_at '${path}'"`
    const subcommands = all.filter((one) => one.path !== '' && parentOf(one.path) === path)
    return [
      ...subcommands.map((one) => `${start} -a ${nameOf(one.path)} -d '${quoted(one.about)}'`),
      ...words.filter((word) => word.startsWith('--')).map((word) => `${start} -l ${word.slice(2)}`),
    ]
  })
  return `# parley completion fish > ~/.config/fish/completions/parley.fish
function __parley_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at $word"
${steps.join('\n')}
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
}
