"""The words of tables and figures in Chinese, a file for each experiment. ``words`` reads them. Given."""
