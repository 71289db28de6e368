import { commonCapabilities } from '@parley/adapter-kit/program-adapter'
import type { AcpAgent } from './agent.ts'

/**
 * The known agents that speak ACP. Each agent needs only an entry here. An entry declares only capabilities that the
 * contract suite has verified. An entry that declares none has the capabilities that the protocol requires of every
 * agent.
 *
 * Where possible, the host enforces our modes: the agent asks for everything, and a rule, the mode or a person answers.
 * Refusals therefore apply in every mode, and the log shows who allowed each call.
 */

/** The agent itself has the mode `plan`. In the other modes it asks for everything, and the host answers. */
const withPlan = {
  ask: 'default',
  'accept-edits': 'default',
  'read-only': 'default',
  plan: 'plan',
  bypass: 'default',
}

export const gemini: AcpAgent = {
  id: 'gemini',
  name: 'Gemini',
  description: 'Gemini CLI by Google, over the Agent Client Protocol.',
  command: 'gemini',
  args: ['--acp'],
  env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
  vendor: ['GEMINI_', 'GOOGLE_', 'CLOUDSDK_'],
  without: ['GEMINI_CLI', 'GEMINI_CLI_IDE_SERVER_PORT', 'GEMINI_CLI_IDE_WORKSPACE_PATH'],
  install: { package: '@google/gemini-cli', version: '0.61.0' },
  signIn: {
    hint: 'Set GEMINI_API_KEY, or sign in once with the program itself: run {program} and choose a sign-in method.',
    command: '{program}',
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'],
    files: ['.gemini/oauth_creds.json'],
    required: true,
    methods: { GEMINI_API_KEY: 'gemini-api-key', GOOGLE_GENAI_USE_VERTEXAI: 'vertex-ai' },
    chosen: { file: '.gemini/settings.json', holds: '"selectedType"' },
  },
  variables: { reserved: ['GEMINI_CLI*', 'GEMINI_SANDBOX'] },
  trust: { variable: 'GEMINI_CLI_TRUST_WORKSPACE', yes: 'true', no: 'false', forServers: true },
  capabilities: [
    'streaming',
    'thinking',
    'permissions',
    'planApproval',
    'images',
    'files',
    'resume',
    'interrupt',
    'models',
    'modes',
    'mcp',
    'commands',
    'environment',
  ],
  modes: withPlan,
  options: ['directories'],
  directories: '--include-directories',
  // The host performs only `write`: if it also read files, Gemini would treat a missing file as a read error and not
  // create it.
  files: ['write'],
  conversations: { home: 'GEMINI_CLI_HOME', folder: '.gemini/tmp' },
  terminal: ['gemini', '--resume'],
  startsAhead: true,
  dialect: {
    toolName: { callId: ['^(.+)__\\1_\\d+_\\d+$', '^(.+?)__'] },
    kinds: {
      exit_plan_mode: 'plan',
      invoke_agent: 'subagent',
      codebase_investigator: 'subagent',
      cli_help: 'subagent',
      complete_task: 'think',
      update_topic: 'think',
      write_todos: 'think',
      tracker_create_task: 'think',
      tracker_update_task: 'think',
      tracker_get_task: 'think',
      tracker_list_tasks: 'think',
      tracker_add_dependency: 'think',
      tracker_visualize: 'think',
      get_internal_docs: 'read',
      list_mcp_resources: 'read',
      read_mcp_resource: 'read',
    },
    commandInTitle: true,
    inputInContent: true,
    cancelledOutput: '^Command cancelled by user',
    planFile: '^Requesting plan approval for: (.+)$',
    wholeThoughts: true,
    thoughtHead: '^\\*{4}\\n',
    notThePerson: '^(\\[Function Response: |\\s*<session_context>)',
    notTheAgent: '^(\\[(Thought: true|Function Call: [^\\]]*)\\])+$',
    modeInText: '[MODE_UPDATE] ',
    replayAfterLoad: true,
    forgetsOpenCall: true,
    minuteInSessionFile: { home: 'GEMINI_CLI_HOME', folder: '.gemini/tmp' },
  },
}

export const claudeAcp: AcpAgent = {
  id: 'claude-acp',
  name: 'Claude (ACP)',
  description: 'Claude Code through the ACP adapter of the Agent Client Protocol project.',
  command: 'claude-agent-acp',
  vendor: ['ANTHROPIC_', 'CLAUDE_', 'AWS_', 'IS_SANDBOX', 'API_TIMEOUT_MS'],
  without: ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SSE_PORT', 'CLAUDE_CODE_SESSION_ID'],
  install: { package: '@agentclientprotocol/claude-agent-acp', version: '0.99.0' },
  signIn: {
    hint: 'Set ANTHROPIC_API_KEY, or sign in once with the program itself: {program} --cli auth login',
    command: '{program} --cli auth login',
    variables: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
    ],
    files: ['.claude/.credentials.json'],
  },
  capabilities: [...commonCapabilities, 'planApproval', 'cost'],
  modes: withPlan,
  options: ['effort', 'directories'],
  conversations: 'listed',
  terminal: ['claude', '--resume'],
  dialect: {
    toolName: { meta: ['claudeCode', 'toolName'] },
    parentCall: ['claudeCode', 'parentToolUseId'],
    kinds: {
      Agent: 'subagent',
      Task: 'subagent',
      BashOutput: 'read',
      TaskOutput: 'read',
      LSP: 'read',
      ListMcpResources: 'read',
      ReadMcpResource: 'read',
      ToolSearch: 'search',
      TodoWrite: 'think',
      TaskCreate: 'think',
      TaskUpdate: 'think',
      TaskGet: 'think',
      TaskList: 'think',
    },
    exitCode: '^Exit code (\\d+)\\n?',
    customAnswer: '_custom',
    steering: '_session/steering',
    meta: {
      always: { claudeCode: { options: { promptSuggestions: false, forwardSubagentText: true } } },
      untrusted: { claudeCode: { options: { settingSources: ['user'] } } },
    },
  },
}

export const codexAcp: AcpAgent = {
  id: 'codex-acp',
  name: 'Codex (ACP)',
  description: 'Codex through the ACP adapter of the Agent Client Protocol project.',
  command: 'codex-acp',
  vendor: ['OPENAI_', 'CODEX_'],
  install: { package: '@agentclientprotocol/codex-acp', version: '2.6.0' },
  signIn: {
    hint: 'Set OPENAI_API_KEY, or sign in once with Codex itself: codex login',
    command: 'codex login',
    variables: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    files: ['.codex/auth.json'],
    required: true,
  },
}

export const opencodeAcp: AcpAgent = {
  id: 'opencode-acp',
  name: 'OpenCode (ACP)',
  description: 'OpenCode, over the Agent Client Protocol.',
  command: 'opencode',
  args: ['acp'],
  vendor: ['OPENCODE_', 'ANTHROPIC_', 'OPENAI_', 'GEMINI_', 'GOOGLE_'],
  install: { package: 'opencode-ai', version: '1.18.33' },
  signIn: {
    hint: 'Sign in once with the program itself: {program} auth login',
    command: '{program} auth login',
    files: ['.local/share/opencode/auth.json'],
  },
}

export const goose: AcpAgent = {
  id: 'goose',
  name: 'Goose',
  description: 'Goose, over the Agent Client Protocol.',
  command: 'goose',
  args: ['acp'],
  vendor: ['GOOSE_', 'ANTHROPIC_', 'OPENAI_', 'GOOGLE_', 'DATABRICKS_'],
  installGuide: 'https://goose-docs.ai/docs/getting-started/installation',
  signIn: {
    hint: 'Configure it once with the program itself: {program} configure',
    command: '{program} configure',
  },
}

export const qwen: AcpAgent = {
  id: 'qwen',
  name: 'Qwen Code',
  description: 'Qwen Code, over the Agent Client Protocol.',
  command: 'qwen',
  args: ['--acp'],
  vendor: ['QWEN_', 'DASHSCOPE_', 'OPENAI_'],
  installGuide: 'https://github.com/QwenLM/qwen-code',
  signIn: {
    hint: 'Sign in once with the program itself: run {program} and choose a sign-in method.',
    command: '{program}',
  },
}

export const kimi: AcpAgent = {
  id: 'kimi',
  name: 'Kimi',
  description: 'Kimi CLI by Moonshot AI, over the Agent Client Protocol.',
  command: 'kimi',
  args: ['acp'],
  vendor: ['KIMI_', 'MOONSHOT_'],
  installGuide: 'https://github.com/MoonshotAI/kimi-cli',
  signIn: { hint: 'Sign in once with the program itself: {program} login', command: '{program} login' },
}

export const copilot: AcpAgent = {
  id: 'copilot',
  name: 'GitHub Copilot',
  description: 'Copilot CLI by GitHub, over the Agent Client Protocol.',
  command: 'copilot',
  args: ['--acp', '--stdio'],
  vendor: ['COPILOT_', 'GH_', 'GITHUB_'],
  installGuide: 'https://github.com/github/copilot-cli',
  signIn: {
    hint: 'Sign in once with the program itself: run {program} and type /login',
    command: '{program}',
  },
}

export const cursor: AcpAgent = {
  id: 'cursor',
  name: 'Cursor',
  description: 'Cursor CLI, over the Agent Client Protocol.',
  command: 'cursor-agent',
  args: ['acp'],
  vendor: ['CURSOR_'],
  installGuide: 'https://cursor.com/docs/cli/installation',
  signIn: {
    hint: 'Set CURSOR_API_KEY, or sign in once with the program itself: {program} login',
    command: '{program} login',
    variables: ['CURSOR_API_KEY', 'CURSOR_AUTH_TOKEN'],
  },
}

/** All presets, in the order of presentation. */
export const acpAgents: readonly AcpAgent[] = [
  gemini,
  claudeAcp,
  codexAcp,
  opencodeAcp,
  goose,
  qwen,
  kimi,
  copilot,
  cursor,
]
