// Builds the extension with the loaders that Argo Rollouts' own web interface is written for.
const path = require('path');
const upstream = require('../src/app/webpack.common.js');

const styles = {
    test: /\.scss$/,
    use: ['style-loader', 'raw-loader', {loader: 'sass-loader', options: {additionalData: "@import 'extension/colors';"}}]
};

module.exports = {
    ...upstream,
    entry: './extension/index.tsx',
    // Argo CD's API server serves files with such names in all folders below resources.
    output: {path: path.resolve('dist/app'), filename: 'resources/rollouts/extension-rollouts.js'},
    // Hooks work only with the React that shows the page, which is Argo CD's.
    externals: {react: 'React', 'react-dom': 'ReactDOM'},
    module: {rules: [...upstream.module.rules.filter(rule => !rule.test.test('.scss')), styles]},
    devtool: false,
    plugins: []
};
